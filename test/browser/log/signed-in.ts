import type { Browser, BrowserContext, Page } from 'playwright-core'
import { ADMIN_PASSWORD } from '../../support/product.js'

/** A page on which somebody is signed in, and what went wrong on it. */
export interface SignedInPage {
  readonly context: BrowserContext
  readonly page: Page
  /** Errors of scripts, and what the content policy of the page refused. */
  readonly problems: string[]
}

/** Opens a page of a control plane, signed in as the first admin. */
export async function openSignedIn(
  browser: Browser,
  address: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<SignedInPage> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) problems.push(message.text())
  })
  await page.goto(`${address}/jobs`)
  const status = await page.evaluate(async (password) => {
    const { status } = await fetch('/api/v2/auth/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-holdfast-page': '1' },
      body: JSON.stringify({ username: 'admin', password }),
    })
    return status
  }, ADMIN_PASSWORD)
  if (status !== 200) throw new Error(`the sign-in of the browser was answered with ${status}`)
  return { context, page, problems }
}
