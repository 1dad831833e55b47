import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const require = createRequire(import.meta.url)

/** The small form of axe. The browser reads it about a third faster than the other one. */
const SOURCE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** The rules of those that look at colours. All others find the same in all colours. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block']

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

/** What keeps people from using the page as it stands: the rule and the element, one line each. */
export function accessFaults(page: Page): Promise<string[]> {
  return faultsOf(page, TAGS)
}

/**
 * What keeps people from using the page as it stands, in light and in dark colours. The page has light colours afterwards.
 * @param page follows the colours of the system
 */
export async function accessFaultsInAllColors(page: Page): Promise<string[]> {
  const light = await accessFaults(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await faultsOf(page, COLOR_RULES)
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark.map((fault) => `dark: ${fault}`)]
}

async function faultsOf(page: Page, rules: readonly string[]): Promise<string[]> {
  // The last value is nothing: the browser would send all of axe back otherwise.
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(`${SOURCE};void 0`)
  // Words that appear slowly have too little contrast until they are there. Who wants no motion sees them at once.
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const options = JSON.stringify({ runOnly: rules, resultTypes: ['violations'] })
  try {
    const { violations } = await page.evaluate<{ violations: Violation[] }>(`axe.run(document, ${options})`)
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    )
  } finally {
    await page.emulateMedia({ reducedMotion: null })
  }
}
