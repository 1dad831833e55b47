import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseField } from '../../../control-plane/src/forms/fields/parse-field.js'
import type { CheckReport } from '../../../control-plane/src/forms/sandbox/worker-messages.js'

let worker: Worker
/** Takes what the thread says. */
let hear: (report: CheckReport) => void
beforeAll(() => {
  const script = new URL('../../../control-plane/dist/forms/sandbox/check-worker.js', import.meta.url)
  worker = new Worker(script, { workerData: { locale: 'de' } })
  worker.on('message', (report: CheckReport) => hear(report))
})
afterAll(() => worker.terminate())

test('it runs in a thread only', async () => {
  const outside = import('../../../control-plane/src/forms/sandbox/check-worker.js')
  await expect(outside).rejects.toThrow('this file is run as a worker')
})

/** What the thread says of one check, up to its end. */
async function reportsOf(fields: readonly object[], more: object = {}) {
  const input = { wizard: [], subforms: {}, values: {}, uploads: {}, constants: {}, user: {}, now: 0, ...more }
  const reports: CheckReport[] = []
  const ended = new Promise<void>((resolve) => {
    hear = (report) => {
      reports.push(report)
      if (report.kind === 'done' || report.kind === 'failed') resolve()
    }
  })
  worker.postMessage({ input: { ...input, fields: fields.map((field) => parseField(field as never)) } })
  await ended
  return reports
}
const local = (name: string, expression: string) => ({ name, type: 'expression', runLocal: true, expression })

test('a check begins, says at which field it is, and ends with its result', async () => {
  const reports = await reportsOf([local('a', '(1.5).toLocaleString()'), local('b', '1 + 1')])
  expect(reports).toMatchObject([
    { kind: 'begins' },
    { kind: 'at', field: 'a' },
    { kind: 'at', field: 'b' },
    // With the locale of the service.
    { kind: 'done', isFit: true, result: { extravars: { a: '1,5', b: 2 } } },
  ])
})

test('a check that breaks down says why, and the next one is done', async () => {
  const failed = await reportsOf([local('a', '1')], { wizard: null })
  expect(failed.at(-1)).toMatchObject({ kind: 'failed', reason: expect.any(String) as string })
  expect((await reportsOf([local('a', '1')])).at(-1)).toMatchObject({ kind: 'done', result: { extravars: { a: 1 } } })
})

/** Variables of so many characters as JSON, with what stands around them. */
const variablesOf = (length: number) => {
  const names = Array.from({ length: 9 }, (_, at) => `v${at}`)
  const frame = JSON.stringify([Object.fromEntries(names.map((name) => [name, ''])), null]).length
  const all = length - frame
  const each = Math.floor(all / names.length)
  return names.map((name, at) => local(name, `'x'.repeat(${at === 0 ? all - each * (names.length - 1) : each})`))
}

test('a check makes 8 MiB of variables at most, or four times as many as its values have', async () => {
  const MAX = 8 * 1024 * 1024
  const last = async (length: number, more: object = {}) => (await reportsOf(variablesOf(length), more)).at(-1)
  expect(await last(MAX)).toMatchObject({ kind: 'done' })
  const reason = 'made far more variables of the values than they are long'
  expect(await last(MAX + 1)).toEqual({ kind: 'failed', reason })
  // The values as JSON are one character longer than a quarter.
  const values = { other: 'x'.repeat(MAX / 4 + 1 - JSON.stringify({ other: '' }).length) }
  expect(await last(MAX + 4, { values })).toMatchObject({ kind: 'done' })
  expect(await last(MAX + 5, { values })).toEqual({ kind: 'failed', reason })
  // A page gets each value twice.
  expect(await last(MAX + 5, { isShowing: true })).toMatchObject({ kind: 'failed' })
  expect(await last(MAX / 2, { isShowing: true })).toMatchObject({ kind: 'done' })
})
