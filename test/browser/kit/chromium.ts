import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, type Locator, type Page, chromium } from 'playwright-core'

const USUAL = '/usr/bin/chromium'

/** How long a page may take for a step on a loaded machine, in milliseconds. */
const PATIENCE_MS = 200_000

/** Starts the machine's own chromium. @throws Error that says what to do when there is none */
export async function startChromium(): Promise<Browser> {
  const path = process.env.CHROMIUM ?? USUAL
  if (!existsSync(path)) {
    throw new Error(`There is no ${path}: install chromium (as root ./scripts/test does), or name one in CHROMIUM`)
  }
  // Its own sandbox does not work for root. The pages are our own.
  return chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

/** One person's browser: what it asked for elsewhere, and what the policy of the pages had to stop. */
export interface Person {
  readonly context: BrowserContext
  readonly page: Page
  /** A tab more. */
  newTab(): Promise<Page>
  /** Faults that no page may have: requests to other hosts, stopped scripts, errors of scripts. */
  faults(): Promise<string[]>
  close(): Promise<void>
}

/** What pages note about what the policy stopped; read by {@link Person.faults}. */
const NOTE_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) => {
  globalThis.stopped = [...(globalThis.stopped ?? []), event.violatedDirective + ' ' + event.blockedURI]
})`

/** Opens a browser for a person. @param address of the control plane, the only place that may be asked */
export async function newPerson(browser: Browser, address: string, settings: object = {}): Promise<Person> {
  const context = await browser.newContext({ viewport: { width: 1180, height: 720 }, ...settings })
  context.setDefaultTimeout(PATIENCE_MS)
  await context.addInitScript(NOTE_VIOLATIONS)
  const faults: string[] = []
  const { origin } = new URL(address)
  context.on('request', (request) => {
    if (/^https?:/.test(request.url()) && new URL(request.url()).origin !== origin)
      faults.push(`asked ${request.url()}`)
  })
  const newTab = async () => {
    const page = await context.newPage()
    page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
    // Dialogs for files come to the test only while somebody listens. Who begins with the key press may be too late.
    page.on('filechooser', () => undefined)
    return page
  }
  return {
    context,
    page: await newTab(),
    newTab,
    async faults() {
      const stopped = await Promise.all(
        context.pages().map((page) => page.evaluate<string[]>('globalThis.stopped ?? []')),
      )
      return [...faults, ...stopped.flat()]
    },
    close: () => context.close(),
  }
}

/** Signs somebody in on the page that asks for it. */
export async function signInOn(page: Page, username: string, password: string): Promise<void> {
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await userMenuOf(page, username).waitFor()
}

/** The button of the menu that belongs to the person. */
export function userMenuOf(page: Page, username: string): Locator {
  return page.getByRole('banner').getByRole('button', { name: `You: ${username}`, exact: true })
}

/** Signs the person out. */
export async function signOutOf(page: Page, username: string): Promise<void> {
  await userMenuOf(page, username).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}
