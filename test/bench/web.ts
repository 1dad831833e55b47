import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { startChromium } from '../browser/kit/chromium.js'
import { openSignedIn } from '../browser/log/signed-in.js'
import { databasePathOf } from '../support/database-file.js'
import { waitFor } from '../support/wait.js'
import { fillPostgres, fillSqlite } from './list-rows.js'
import { type Figure, atMost } from './report.js'
import { median } from './statistics.js'
import { type SurvivalProduct, startSurvivalProduct } from './survival-product.js'
import { scroll } from './web-scroll.js'
import { measureFirefox } from './web-firefox.js'
import { measureFolding } from './web-folds.js'
import { FOLLOWED, WATCHED_SECONDS, firstPaint, heapMbOf, lineShown, waitInPage, watch } from './web-page.js'

type Say = (line: string) => void

const JOBS = 1000
/** Lines of an output of about 100 MB. */
const LINES = 1_000_000
/** The output is this part, so many times. */
const TIMES = 10
const LONG_PART = Array.from(
  { length: LINES / TIMES },
  (_, line) => `ok: [web${line % 50}] ${line} ${'x'.repeat(80)}\n`,
)
const HOSTS = 2000
const TASKS = 500

/** How quick the pages are, in the machine's own browsers and with a control plane of its own. */
export async function measureWeb(runs: number, database: 'sqlite' | 'postgres', say: Say): Promise<Figure[]> {
  const survival = await startSurvivalProduct({ database })
  const browser = await startChromium()
  try {
    const { product } = survival
    await product.controlPlane.stop()
    if (product.databaseUrl === null) await fillSqlite(databasePathOf(product), JOBS)
    else await fillPostgres(product.databaseUrl, JOBS)
    await product.startControlPlane()
    await product.waitForRunner()
    const paint = await measurePaint(browser, product.address, Math.max(runs, 5))
    const longId = await makeLong(survival)
    const figures = [
      ...paint,
      ...(await measureLong(browser, product.address, longId)),
      ...(await measureFolding(browser, product.address, longId, Array(TIMES).fill(LONG_PART).flat())),
      ...(await measureFollowing(browser, survival)),
      ...(await measureGrid(browser, product.address)),
      ...(await measureFirefox(survival, longId)),
    ]
    for (const { what, value, unit, digits } of figures) say(`  ${what}: ${value.toFixed(digits)} ${unit}`)
    return figures
  } finally {
    await browser.close()
    await survival.product.close()
  }
}

/** The first paint of the page that asks who one is, and of the list of jobs. */
async function measurePaint(browser: Browser, address: string, runs: number): Promise<Figure[]> {
  const [signIn, list, shifts] = [[] as number[], [] as number[], [] as number[]]
  const { page, context } = await openSignedIn(browser, address)
  for (let run = 0; run < runs; run += 1) {
    const stranger = await browser.newContext()
    const asked = await stranger.newPage()
    await asked.goto(`${address}/`)
    const paint = await firstPaint(asked)
    signIn.push(paint.ms)
    await stranger.close()

    await page.goto('about:blank')
    await page.goto(`${address}/jobs`)
    list.push(await waitInPage(page, `document.querySelector('a[href$="/jobs/${JOBS}"]')`))
    shifts.push(paint.shift, (await firstPaint(page)).shift)
  }
  await context.close()
  return [
    atMost('first paint of the sign-in page', median(signIn), 'ms', 400, `median of ${runs}`),
    atMost(
      `the list with ${JOBS} jobs`,
      median(list),
      'ms',
      600,
      `median of ${runs}, until the newest job stands there`,
    ),
    { ...atMost('what moved about on both pages', Math.max(...shifts), '', 0.02, 'CLS, worst'), digits: 3 },
  ]
}

/** A job with an output of a million lines. @returns its number */
async function makeLong({ product, launch }: SurvivalProduct): Promise<number> {
  const path = join(product.folder, 'long')
  writeFileSync(path, LONG_PART.join(''))
  const { jobId } = await launch('long', {
    steps: 1,
    eventBytes: 0,
    raw: [{ step: 1, stream: 'output', path, times: TIMES }],
  })
  const stored = () => product.admin.get<{ streams: { output: { lines: number } } }>(`/job/${jobId}?output=false`)
  await waitFor('the output', async () => (await stored()).streams.output.lines >= LINES, { timeoutMs: 300_000 })
  return jobId
}

/** Going about in an output of a million lines. */
async function measureLong(browser: Browser, address: string, jobId: number): Promise<Figure[]> {
  const { page, context } = await openSignedIn(browser, address)
  await page.goto('about:blank')
  await page.goto(`${address}/jobs/${jobId}`)
  const end = await waitInPage(page, lineShown(LINES))
  await page.focus('.log-scroller')
  const top = await afterKey(page, 'Home', lineShown(0))
  await page.goto('about:blank')
  await page.goto(`${address}/jobs/${jobId}#L${LINES / 2 + 1}`)
  const link = await waitInPage(page, lineShown(LINES / 2))
  await page.focus('.log-scroller')
  await page.keyboard.press('/')
  await page.locator('.log-find input[type=search]:focus').waitFor()
  await noteWhen(page, 'input')
  await page.keyboard.insertText('[web49] 99999 ')
  await page.keyboard.press('Enter')
  const hit = `document.querySelector('.log-text mark')?.textContent.includes('99999')`
  const find = await waitInPage(page, hit, 'globalThis.noted')
  await page.mouse.move(600, 600)
  const { frameMs } = await scroll(page, (pixels) => page.mouse.wheel(0, pixels))
  await context.close()
  const name = `output of ${LINES} lines`
  const seconds = (what: string, ms: number, most: number, note = '') => ({
    ...atMost(`${name}: ${what}`, ms / 1000, 's', most, note),
    digits: 2,
  })
  return [
    seconds('its end, from the begin of the page', end, 0.5),
    seconds('its top', top, 0.8),
    seconds('a link to a line in the middle, from the begin of the page', link, 0.8),
    seconds('a text that stands once in 100,000 lines is found', find, 0.5),
    atMost(`${name}: frames while scrolling with the wheel, 99 %`, frameMs, 'ms', 34, ''),
  ]
}

/** Milliseconds from a key until a condition holds in the page. */
async function afterKey(page: Page, key: string, condition: string): Promise<number> {
  await noteWhen(page, 'keydown')
  await page.keyboard.press(key)
  return waitInPage(page, condition, 'globalThis.noted')
}

/** Has the page note the time of the next event of a kind. */
async function noteWhen(page: Page, event: string): Promise<void> {
  const note = '() => (globalThis.noted = performance.now())'
  await page.evaluate(`addEventListener('${event}', ${note}, { once: true, capture: true })`)
}

/** A page that follows what comes quickly. */
async function measureFollowing(browser: Browser, { product, launch }: SurvivalProduct): Promise<Figure[]> {
  const { jobId } = await launch('followed', { ...FOLLOWED, steps: FOLLOWED.perSecond * (WATCHED_SECONDS + 15) })
  const { page, context } = await openSignedIn(browser, product.address)
  await page.goto(`${product.address}/jobs/${jobId}`)
  await waitInPage(page, `document.querySelectorAll('.log-row:not([hidden]) .log-text').length > 10`)
  const { frameMs, taskMs, behindMs, elements } = await watch(page, WATCHED_SECONDS)
  const heapMb = await heapMbOf(page)
  await context.close()
  const name = `following ${FOLLOWED.perSecond} lines a second`
  return [
    atMost(`${name}: frames, 99 %`, frameMs, 'ms', 34, `${WATCHED_SECONDS} s`),
    atMost(`${name}: longest task`, taskMs, 'ms', 100, ''),
    { ...atMost(`${name}: behind, 95 %`, behindMs / 1000, 's', 0.5, 'from the writing to the window'), digits: 2 },
    atMost(`${name}: memory of scripts`, heapMb, 'MB', 25, ''),
    atMost(`${name}: elements of the page`, elements, '', 1500, ''),
  ]
}

/** The largest grid of hosts and tasks. Its answers are made here: only the page is measured. */
async function measureGrid(browser: Browser, address: string): Promise<Figure[]> {
  const { page, context } = await openSignedIn(browser, address)
  const hosts = Array.from({ length: HOSTS }, (_, host) => `host${host + 1}`)
  const tasks = Array.from({ length: TASKS }, (_, task) => task + 2)
  const cells = tasks.map(() => 'o'.repeat(HOSTS))
  const counts = { ok: HOSTS, changed: 0, failed: 0, skipped: 0, unreachable: 0, ignored: 0, hosts: HOSTS }
  const time = '2026-01-01T00:00:00.000Z'
  const records = tasks.map((id) => ({
    id,
    kind: 'task',
    play: 1,
    name: `Task ${id - 1}`,
    role: null,
    path: null,
    order: id,
    started: time,
    ended: time,
    ...counts,
  }))
  await page.route(/\/job\/1\/matrix/, (route) => route.fulfill({ json: { hosts, tasks, cells, complete: true } }))
  await page.route(/\/job\/1\/outline/, (route) =>
    route.fulfill({ json: { count: TASKS, records, last: 9, complete: true } }),
  )
  await page.goto('about:blank')
  await page.goto(`${address}/jobs/1/tasks`)
  const shown = await waitInPage(
    page,
    `document.querySelector('[role=gridcell][aria-label*="host1"], [role=grid] [role=gridcell]')`,
  )
  const scroll = `for (const one of document.querySelectorAll('[role=grid], [role=grid] *')) {
    if (one.scrollHeight > one.clientHeight + 100 && getComputedStyle(one).overflowY !== 'visible') one.scrollTop += 37
  }`
  const { frameMs, elements } = await watch(page, 5, scroll)
  await context.close()
  const name = `${HOSTS} hosts × ${TASKS} tasks`
  return [
    atMost(`${name}: shown, from the begin of the page`, shown, 'ms', 1000, ''),
    atMost(`${name}: frames while scrolling, 99 %`, frameMs, 'ms', 34, `${elements} elements`),
  ]
}
