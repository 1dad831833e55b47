import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EMITTER } from '../../chaos/kit/chaos-product.js'
import { type Load, SMALL_LOAD, SYNTHETIC_FORM, extravarsOf, truthOf } from '../../chaos/kit/load.js'
import { storedOutput } from '../../support/exactness.js'
import { type Product, startProduct } from '../../support/product.js'
import { waitFor } from '../../support/wait.js'
import { startChromium } from '../kit/chromium.js'
import { accessFaults } from '../kit/axe.js'
import * as window from './log-window.js'
import type { LogPage } from './log-window.js'
import { openSignedIn } from './signed-in.js'

let product: Product
let browser: Browser

beforeAll(async () => {
  browser = await startChromium()
  product = await startProduct({
    forms: { 'synthetic.yml': SYNTHETIC_FORM },
    playbooks: { 'synthetic.yml': '[]\n' },
    agent: { PATH: `${EMITTER}:${process.env['PATH'] ?? ''}` },
    prepare: async (folder) => {
      mkdirSync(join(folder, 'truth'))
      return { controlPlane: {}, agent: {} }
    },
  })
})

afterAll(async () => {
  await browser?.close()
  await product?.close()
})

/** Starts a job that prints what it is told, and waits at its gates. */
async function launch(name: string, load: Partial<Load>) {
  const folder = join(product.folder, 'truth')
  const jobId = await product.launch('synthetic', extravarsOf({ ...SMALL_LOAD, eventBytes: 0, ...load }, folder, name))
  return { jobId, truth: truthOf(folder, name) }
}

/** Writes a file that a job prints. */
function piece(name: string, text: string): string {
  const path = join(product.folder, name)
  writeFileSync(path, text)
  return path
}

const seen = (page: Page): LogPage => ({
  evaluate: (expression) => page.evaluate(expression),
  press: (key) => page.keyboard.press(key),
})
const linesIn = (page: Page) => window.linesIn(seen(page))
const waitForLine = (page: Page, isRight: (line: number) => boolean) => window.waitForLine(seen(page), isRight)
const statusOf = (page: Page) => window.statusOf(seen(page))
const linesSaid = (page: Page) => window.linesSaid(seen(page))
const readThrough = (page: Page) => window.readThrough(seen(page))

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')

test('a job is followed while the control plane is killed: each byte is shown once, and who reads above stands still', async () => {
  const { jobId, truth } = await launch('cut', { steps: 1_500, gates: [501, 1_001] })
  const { page, problems, context } = await openSignedIn(browser, product.address)
  await page.goto(`${product.address}/jobs/${jobId}`)
  await waitForLine(page, (line) => line === 499)

  // Up by the wheel: the end is left, and what is read stays where it is.
  await page.hover('.log-scroller')
  await page.mouse.wheel(0, -1_234)
  const before = await waitForLine(page, (line) => line < 450)
  truth.openGate(501)
  await waitFor('the new lines', async () => (await linesSaid(page)) >= 1_000)
  expect(await linesIn(page)).toEqual(before)
  await page.getByRole('button', { name: /new lines/ }).click()
  await waitForLine(page, (line) => line === 999)

  await product.controlPlane.stop('SIGKILL')
  truth.openGate(1_001)
  await waitFor('the page to say so', async () => (await statusOf(page)).includes('Not connected'))
  await product.startControlPlane()
  await waitFor('the end', async () => (await statusOf(page)).includes('All of the output'))
  await waitForLine(page, (line) => line === 1_499)

  const stored = await storedOutput(product, jobId)
  expect(stored.equals(readFileSync(truth.outputPath))).toBe(true)
  // A line of the emitter may end inside a character, which is shown as its sign in the place of one.
  expect(sha256(await readThrough(page))).toBe(sha256(stored.toString()))
  expect(problems).toEqual([])
  await context.close()
})

test('of a million lines a few requests bring the end, and only a window of them is on the page', async () => {
  const lines = Array.from({ length: 100_000 }, (_, line) => `ok: [web${line % 50}] ${line}\n`).join('')
  const { jobId, truth } = await launch('long', {
    steps: 1_000,
    gates: [2],
    raw: [{ step: 1, stream: 'output', path: piece('million', lines), times: 10 }],
  })
  await waitFor('a million stored lines', async () => {
    const { streams } = await product.admin.get<{ streams: { output: { lines: number } } }>(
      `/job/${jobId}?output=false`,
    )
    return streams.output.lines >= 1_000_000
  })
  const { page, problems, context } = await openSignedIn(browser, product.address)
  const requests: string[] = []
  page.on('request', (request) => request.url().includes('/output') && requests.push(request.url()))
  await page.goto(`${product.address}/jobs/${jobId}`)
  await waitForLine(page, (line) => line === 1_000_000)
  expect(requests.length).toBeLessThanOrEqual(4)
  expect(await page.locator('*').count()).toBeLessThan(1_500)

  // A place beyond what a browser scrolls by itself (8 million pixels, as Firefox needs it), while the output grows.
  await page.goto(`${product.address}/jobs/${jobId}#L950001`)
  await page.reload()
  const before = await waitForLine(page, (line) => line === 950_000)
  expect(before.find(({ line }) => line === 950_000)?.text).toBe('ok: [web0] 50000')
  truth.openGate(2)
  await waitFor('the end', async () => (await statusOf(page)).includes('All of the output'))
  expect(await linesSaid(page)).toBe(1_001_000)
  expect(await linesIn(page)).toEqual(before)

  requests.length = 0
  await page.focus('.log-scroller')
  await page.keyboard.press('Home')
  await waitForLine(page, (line) => line === 0)
  expect(requests.length).toBeLessThanOrEqual(2)
  expect(await page.locator('*').count()).toBeLessThan(1_500)
  expect(problems).toEqual([])
  await context.close()
})

test('markup, escapes and links in the output are text, but for addresses of the web', async () => {
  const hostile = [
    '<img src=x onerror="document.title=1"><script>document.title=1</script>',
    '\x1b]8;;javascript:document.title=1\x07press\x1b]8;;\x07 \x1b[31mred\x1b[0m \x1b[2J\x1b[1;1Hstill here',
    'javascript:alert(1) https://example.org/a&b "quoted" \u202ereversed',
    'failed\rok',
  ]
  const { jobId } = await launch('hostile', {
    steps: 1,
    outputBytes: 40,
    raw: [{ step: 1, stream: 'output', path: piece('hostile', `${hostile.join('\n')}\n`), times: 1 }],
  })
  const { page, problems, context } = await openSignedIn(browser, product.address)
  await page.goto(`${product.address}/jobs/${jobId}`)
  await waitFor('the end', async () => (await statusOf(page)).includes('All of the output'))
  const lines = await waitForLine(page, (line) => line === 4)
  expect(lines.slice(0, 4).map(({ text }) => text)).toEqual([
    hostile[0],
    'press red still here',
    'javascript:alert(1) https://example.org/a&b "quoted" <U+202E>reversed',
    'failed␍ok',
  ])
  const sheet = page.locator('.log-sheet')
  expect(
    await sheet.locator('.log-text a').evaluateAll((links) => links.map((link) => link.getAttribute('href'))),
  ).toEqual(['https://example.org/a&b'])
  expect(await sheet.locator('img, script, iframe, [onerror]').count()).toBe(0)
  expect(await page.title()).not.toBe('1')
  expect(problems).toEqual([])
  await context.close()
})

test('a pattern is found in all of the output, only its lines are shown, and none can stop the page', async () => {
  const text = Array.from({ length: 60_000 }, (_, line) => `\x1b[0;32mok: [web${line % 500}] ${line}\x1b[0m\n`).join('')
  const { jobId, truth } = await launch('pattern', {
    steps: 2,
    gates: [2],
    raw: [
      { step: 1, stream: 'output', path: piece('pattern', `${text}${'x'.repeat(50)}\n`), times: 1 },
      { step: 2, stream: 'output', path: piece('pattern-later', 'ok: [web7] later\n'), times: 1 },
    ],
  })
  const { page, problems, context } = await openSignedIn(browser, product.address)
  await page.goto(`${product.address}/jobs/${jobId}`)
  await waitForLine(page, (line) => line >= 59_999)
  await page.focus('.log-scroller')
  await page.keyboard.press('/')
  const field = page.getByLabel('Find in the output')
  await field.waitFor()
  const said = page.getByRole('search').getByRole('status')
  await page.getByRole('button', { name: 'Regular expression' }).click()
  await field.fill('^OK: \\[web(7|123)\\] \\d+$')
  await said.getByText('1 of 240').waitFor()
  await page.getByRole('button', { name: 'Only lines with it' }).click()
  await waitFor('only these lines', async () =>
    (await linesIn(page)).every(({ line }) => [7, 123].includes(line % 500)),
  )
  await page.focus('.log-scroller')
  await page.keyboard.press('Home')
  expect((await waitForLine(page, (line) => line === 7)).slice(0, 3).map(({ line }) => line)).toEqual([7, 123, 507])
  await waitFor('its marks', async () =>
    (await page.locator('.log-text mark').allInnerTexts()).includes('ok: [web7] 7'),
  )
  expect(await accessFaults(page)).toEqual([])

  // What is no pattern says so, and changes nothing.
  const before = await linesIn(page)
  await field.fill('^OK: (')
  await said.getByText('This is no regular expression').waitFor()
  expect(await linesIn(page)).toEqual(before)

  await field.fill('(x+x+)+y')
  await waitFor('the page to be quick all the same', async () => {
    const from = performance.now()
    await page.evaluate('1')
    return performance.now() - from < 10_000 && (await said.innerText()).includes('takes too long')
  })
  await field.fill('web499\\] 5999$')
  await said.getByText('1 line', { exact: true }).waitFor()

  // A reload shows the same again, and what comes is looked through, too.
  await field.fill('web7\\b')
  await said.getByText('120 lines').waitFor()
  await expect.poll(() => page.evaluate('history.state?.log?.isOnly')).toBe(true)
  await page.reload()
  await said.getByText('120 lines').waitFor()
  truth.openGate(2)
  await said.getByText('121 lines').waitFor()
  await page.getByRole('button', { name: 'Only lines with it', pressed: true }).click()
  await waitForLine(page, (line) => [6, 8].includes(line % 500))
  expect(problems).toEqual([])
  await context.close()
})

test('with the keyboard alone one finds, folds, wraps and follows', async () => {
  const tasks = Array.from(
    { length: 30 },
    (_, task) => `\nTASK [step ${task}] ****\nok: [web1]\n${task === 20 ? 'fatal: [web2]: FAILED!' : 'ok: [web2]'}\n`,
  )
  const text = `\nPLAY [all] ****\n${tasks.join('')}${'wide '.repeat(200)}\n`
  const { jobId } = await launch('keys', {
    steps: 1,
    raw: [{ step: 1, stream: 'output', path: piece('keys', text), times: 1 }],
  })
  const { page, problems, context } = await openSignedIn(browser, product.address)
  await page.goto(`${product.address}/jobs/${jobId}`)
  await waitFor('the end', async () => (await statusOf(page)).includes('All of the output'))
  await page.focus('.log-scroller')
  await page.keyboard.press('Home')
  await page.keyboard.press('e')
  const failure = text.split('\n').indexOf('fatal: [web2]: FAILED!')
  await expect.poll(() => page.locator('.log-cursor').getAttribute('data-line')).toBe(String(failure))

  await page.keyboard.press('[')
  await page.keyboard.press('Enter')
  const header = failure - 2
  await waitFor('the fold', async () => (await linesIn(page)).every(({ line }) => line !== failure))
  expect((await linesIn(page)).map(({ line }) => line)).toContain(header)

  // A hit in a folded part unfolds it.
  await page.keyboard.press('/')
  await page.locator('.log-find input[type=search]:focus').waitFor()
  await page.keyboard.type('failed!')
  await page.keyboard.press('Enter')
  await waitFor('the hit', async () => (await page.locator('.log-text mark').allInnerTexts()).includes('FAILED!'))
  await page.keyboard.press('Escape')
  await page.keyboard.press('End')
  await page.keyboard.press('w')
  // The wide line takes several rows, and its last word is in the window.
  await waitFor('the wrapped line', async () => {
    const heights = await page
      .locator('.log-row:not([hidden])')
      .evaluateAll((rows) => rows.map((row) => row.clientHeight))
    return Math.max(...heights) > 3 * Math.min(...heights)
  })
  expect(await page.locator('.log-scroller [tabindex="0"], .log-scroller button:not([tabindex="-1"])').count()).toBe(0)
  expect(problems).toEqual([])
  await context.close()
})
