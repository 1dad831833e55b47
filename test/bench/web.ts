import { readFileSync, writeFileSync } from 'node:fs'
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
import { measureGrid } from './web-grid.js'
import { measurePaint } from './web-paint.js'
import { FOLLOWED, WATCHED_SECONDS, heapMbOf, lineShown, waitInPage, watch } from './web-page.js'

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
    const loads = Math.max(runs, 5)
    const paint = await measurePaint(browser, product.address, { jobs: JOBS, runs: loads })
    const longId = await makeLong(survival)
    const figures = [
      ...pageSizes(),
      ...paint,
      ...(await measureLong(browser, product.address, longId, loads)),
      ...(await measureFolding(browser, product.address, longId, Array(TIMES).fill(LONG_PART).flat())),
      ...(await measureFollowing(browser, survival)),
      ...(await measureGrid(browser, product.address, loads)),
      ...(await measureFirefox(survival, longId)),
    ]
    for (const { what, value, unit, digits } of figures) say(`  ${what}: ${value.toFixed(digits)} ${unit}`)
    return figures
  } finally {
    await browser.close()
    await survival.product.close()
  }
}

/** What a browser loads of the pages, compressed. */
function pageSizes(): Figure[] {
  const sizes = JSON.parse(readFileSync('control-plane/web/dist/pages/sizes.json', 'utf8')) as Record<string, number>
  const kilobytes = (what: string, name: string, most: number) =>
    atMost(what, (sizes[name] ?? NaN) / 1000, 'kB', most, 'compressed with gzip')
  return [
    kilobytes('scripts of the start', 'start', 38),
    kilobytes('scripts of the page of a job, more', 'jobPage', 24),
    ...['form', 'forms', 'schedules', 'runners', 'admin'].map((part) =>
      kilobytes(`scripts of the pages of ${part}, more`, `${part}Pages`, 16),
    ),
    kilobytes('styles', 'styles', 10),
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
async function measureLong(browser: Browser, address: string, jobId: number, runs: number): Promise<Figure[]> {
  const { page, context } = await openSignedIn(browser, address)
  const [ends, links] = [[] as number[], [] as number[]]
  let top = 0
  for (let run = 0; run < runs; run += 1) {
    await page.goto('about:blank')
    await page.goto(`${address}/jobs/${jobId}`)
    ends.push(await waitInPage(page, lineShown(LINES)))
    await page.focus('.log-scroller')
    top = Math.max(top, await afterKey(page, 'Home', lineShown(0)))
    await page.goto('about:blank')
    await page.goto(`${address}/jobs/${jobId}#L${LINES / 2 + 1}`)
    links.push(await waitInPage(page, lineShown(LINES / 2)))
  }
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
    seconds('its end, from the begin of the page', median(ends), 0.5, `median of ${runs}`),
    seconds('its top', top, 0.8, `longest of ${runs}`),
    seconds('a link to a line in the middle, from the begin of the page', median(links), 0.8, `median of ${runs}`),
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
