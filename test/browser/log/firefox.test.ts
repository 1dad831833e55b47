import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EMITTER } from '../../chaos/kit/chaos-product.js'
import { type Load, SMALL_LOAD, SYNTHETIC_FORM, extravarsOf, truthOf } from '../../chaos/kit/load.js'
import { type Product, startProduct } from '../../support/product.js'
import { waitFor } from '../../support/wait.js'
import { type FirefoxPage, signInAsAdmin, startFirefox } from '../kit/firefox.js'
import { linesIn, linesSaid, statusOf, waitForLine } from './log-window.js'

/** The window on an output in the machine's own Firefox, which lays out very high elements in another way than chromium. */
let product: Product
let page: FirefoxPage

beforeAll(async () => {
  ;[page, product] = await Promise.all([
    startFirefox(),
    startProduct({
      forms: { 'synthetic.yml': SYNTHETIC_FORM },
      playbooks: { 'synthetic.yml': '[]\n' },
      agent: { PATH: `${EMITTER}:${process.env['PATH'] ?? ''}` },
      prepare: async (folder) => {
        mkdirSync(join(folder, 'truth'))
        return { controlPlane: {}, agent: {} }
      },
    }),
  ])
  await signInAsAdmin(page, product.address)
})
afterAll(async () => {
  await page?.close()
  await product?.close()
})

async function launch(name: string, load: Partial<Load>) {
  const folder = join(product.folder, 'truth')
  const jobId = await product.launch('synthetic', extravarsOf({ ...SMALL_LOAD, eventBytes: 0, ...load }, folder, name))
  return { jobId, truth: truthOf(folder, name) }
}

test('in Firefox a line beyond the highest element that it can lay out is shown, and stays while the output grows', async () => {
  const lines = Array.from({ length: 100_000 }, (_, line) => `ok: [web${line % 50}] ${line}\n`).join('')
  const path = join(product.folder, 'million')
  writeFileSync(path, lines)
  const raw = [{ step: 1, stream: 'output' as const, path, times: 10 }]
  const { jobId, truth } = await launch('long', { steps: 1_000, gates: [2], raw })
  await waitFor('a million stored lines', async () => {
    const { streams } = await product.admin.get<{ streams: { output: { lines: number } } }>(
      `/job/${jobId}?output=false`,
    )
    return streams.output.lines >= 1_000_000
  })
  await page.goTo(`${product.address}/jobs/${jobId}#L950001`)
  const before = await waitForLine(page, (line) => line === 950_000)
  const asked = before.find(({ line }) => line === 950_000)
  expect(asked?.text).toBe('ok: [web0] 50000')
  // In sight, and not only on the page.
  expect(asked?.top).toBeGreaterThanOrEqual(0)
  expect(asked?.top).toBeLessThan(700)
  truth.openGate(2)
  await waitFor('the end', async () => (await statusOf(page)).includes('All of the output'))
  expect(await linesSaid(page)).toBe(1_001_000)
  expect(await linesIn(page)).toEqual(before)
  await page.evaluate(`document.querySelector('.log-scroller').focus()`)
  await page.press('End')
  await waitForLine(page, (line) => line === 1_000_999)
  await page.press('Home')
  await waitForLine(page, (line) => line === 0)
  expect(await page.evaluate<number>('document.querySelectorAll("*").length')).toBeLessThan(1_500)
  expect(page.problems()).toEqual([])
})
