import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { openSignedIn } from '../browser/log/signed-in.js'
import { type Figure, atMost } from './report.js'
import { median, range } from './statistics.js'
import { firstPaint, waitInPage } from './web-page.js'

/**
 * The first paint of the page that asks who one is, and of a list with some jobs. The browser's own part of it is measured
 * in the same run, with a page of one sentence: on a slow machine it alone can take longer than the goal.
 */
export async function measurePaint(
  browser: Browser,
  address: string,
  { jobs, runs }: { readonly jobs: number; readonly runs: number },
): Promise<Figure[]> {
  const [bare, signIn, list, shifts] = [[] as number[], [] as number[], [] as number[], [] as number[]]
  const sentence = await servePageOfOneSentence()
  const { page, context } = await openSignedIn(browser, address)
  for (let run = 0; run < runs; run += 1) {
    bare.push((await paintForStranger(browser, sentence.address)).ms)
    const paint = await paintForStranger(browser, `${address}/`)
    signIn.push(paint.ms)

    await page.goto('about:blank')
    await page.goto(`${address}/jobs`)
    list.push(await waitInPage(page, `document.querySelector('a[href$="/jobs/${jobs}"]')`))
    shifts.push(paint.shift, (await firstPaint(page)).shift)
  }
  await context.close()
  sentence.close()
  const noteOf = (values: readonly number[], more = '') => `median of ${runs}, ${range(values, 0)}${more}`
  return [
    {
      what: 'first paint of a page of one sentence',
      value: median(bare),
      unit: 'ms',
      digits: 0,
      reach: null,
      note: noteOf(bare, '; what the browser itself needs'),
    },
    atMost('first paint of the sign-in page', median(signIn), 'ms', 400, noteOf(signIn)),
    atMost(`the list with ${jobs} jobs`, median(list), 'ms', 600, noteOf(list, ', until the newest job stands there')),
    { ...atMost('what moved about on both pages', Math.max(...shifts), '', 0.02, 'CLS, worst'), digits: 3 },
  ]
}

/** The first paint of a page in a browser that knows nothing of it. */
async function paintForStranger(browser: Browser, address: string) {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(address)
  const paint = await firstPaint(page)
  await context.close()
  return paint
}

/** A page with nothing but a sentence. It has the one header of ours that makes the browser start a process for it. */
async function servePageOfOneSentence() {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.setHeader('cross-origin-opener-policy', 'same-origin')
    response.end('<!doctype html><title>One</title><p>One sentence.')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return { address: `http://127.0.0.1:${port}/`, close: () => server.close() }
}
