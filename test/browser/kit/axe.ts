import axe from 'axe-core'
import type { Page } from 'playwright-core'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

/** What keeps people from using the page as it stands: the rule and the element, one line each. */
export async function accessFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const options = JSON.stringify({ runOnly: RULES, resultTypes: ['violations'] })
  const { violations } = await page.evaluate<{ violations: Violation[] }>(`axe.run(document, ${options})`)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}
