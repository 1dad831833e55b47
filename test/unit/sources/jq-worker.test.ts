import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JqReport } from '../../../control-plane/src/sources/jq-thread.js'

let worker: Worker
/** Takes what the thread says. */
let hear: (report: JqReport) => void
beforeAll(() => {
  worker = new Worker(new URL('../../../control-plane/dist/sources/jq-worker.js', import.meta.url))
  worker.on('message', (report: JqReport) => hear(report))
})
afterAll(() => worker.terminate())

/** The result of a filter, or the reason why there is none. */
async function run(value: unknown, filter: string): Promise<unknown> {
  const reports: JqReport[] = []
  const ended = new Promise<JqReport>((resolve) => {
    hear = (report) => {
      reports.push(report)
      if (report.kind !== 'ready') resolve(report)
    }
  })
  worker.postMessage({ value, filter })
  const report = await ended
  // Before the filter runs, its thread is ready.
  expect(reports.map(({ kind }) => kind)).toEqual(['ready', report.kind])
  return report.kind === 'failed' ? { failed: report.reason } : (report as { value?: unknown }).value
}

test('it runs in a thread only', async () => {
  await expect(import('../../../control-plane/src/sources/jq-worker.js')).rejects.toThrow(
    'this file is run as a worker',
  )
})

test.each<[unknown, string, unknown]>([
  [{ a: [1, 2] }, '.a', [1, 2]],
  [[{ n: 'x' }, { n: 'y' }], '.[].n', ['x', 'y']],
  [[{ n: 'x' }], '.[].n', 'x'],
  [[], '.[]', null],
  [undefined, '.', null],
  ['a\nb', '.', 'a\nb'],
  [2048, 'fn2KB', 2],
  [3 * 1024 ** 2, 'fn2MB', 3],
  [5 * 1024 ** 3, 'fn2GB', 5],
  [1.5, 'fnRound0', 2],
  [1.49, 'fnRound0', 1],
  [1.25, 'fnRound1', 1.3],
  [1.125, 'fnRound2', 1.13],
  [1.125, 'fnRound', 1.13],
  [{ size: 1536 }, '.size | fn2KB | fnRound1', 1.5],
])('of %j the filter %s makes %j', async (value, filter, result) => {
  expect(await run(value, filter)).toEqual(result)
})

test('a wrong filter says why, at its own place, and the next one runs', async () => {
  expect(await run(1, '.a | gone')).toEqual({ failed: expect.stringContaining('gone/0 is not defined') as string })
  expect(await run(1, 'error("no")')).toEqual({ failed: expect.stringContaining('no') as string })
  expect(await run(1, '.')).toBe(1)
})

test('the results have 8 MiB together at most', async () => {
  /** With its quotes the text has so many characters. */
  const filter = (length: number) => `"a" * ${length - 2}`
  const MAX = 8 * 1024 * 1024
  expect(String(await run(null, filter(MAX))).length).toBe(MAX - 2)
  expect(await run(null, filter(MAX + 1))).toEqual({ failed: 'the result is too long' })
})
