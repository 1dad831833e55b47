import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { TooManyError, UnavailableError } from '../../control-plane/src/errors.js'
import type { CheckInput } from '../../control-plane/src/forms/check/context.js'
import { parseFormFile } from '../../control-plane/src/forms/parse-form.js'
import { type LaunchChecks, createLaunchChecks } from '../../control-plane/src/forms/sandbox/launch-checks.js'
import { waitUntil } from '../agent/waiting.js'
import { ROOT } from '../support/product.js'

/** The threads in which launches are checked, as they were built. */
const script = pathToFileURL(join(ROOT, 'control-plane/dist/forms/sandbox/check-worker.js'))
const log = { warn: () => undefined }

let checks: LaunchChecks | null = null
afterEach(() => checks?.close())

function inputOf(field: object, values: Record<string, unknown> = {}): CheckInput {
  const fields = [{ name: 'f', ...field }]
  const { forms, errors } = parseFormFile('f.yml', JSON.stringify({ name: 'f', playbook: 'x.yml', fields }))
  if (!forms[0]) throw new Error(JSON.stringify(errors))
  const more = { wizard: [], subforms: {}, uploads: {}, constants: {}, user: {}, now: 0 }
  return { ...more, fields: forms[0].form.fields, values }
}

const local = (expression: string) => inputOf({ type: 'expression', runLocal: true, expression })
/** One call into the engine that no tick interrupts, and that takes minutes. */
const STUCK = local('"x".repeat(6e6).indexOf("x".repeat(3e6) + "y")')

test('a check that cannot be interrupted loses its thread, says at which field, and the next one is good', async () => {
  checks = createLaunchChecks({ log, script, threads: 1, limitMs: 1500 })
  const stuck = checks.check(STUCK, 'a')
  const next = checks.check(local('1 + 1'), 'a')
  expect((await stuck).details).toMatchObject({ waiting: ['f'] })
  expect((await next).extravars).toEqual({ f: 2 })
})

test('an engine that broke down takes its thread along, not the service', async () => {
  checks = createLaunchChecks({ log, script, threads: 1 })
  const deep = local('let a = []; for (let i = 0; i < 100000; i++) a = [a]; JSON.stringify(a)')
  expect((await checks.check(deep, 'a')).details.waiting).toEqual(['f'])
  expect((await checks.check(local('1 + 1'), 'a')).extravars).toEqual({ f: 2 })
})

/** A thread that does this with each check. */
const threadThat = (code: string) =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`import { parentPort as port } from 'node:worker_threads'; port.on('message', ({ input }) => { ${code} })`)}`,
  )
const DONE = "port.postMessage({ kind: 'done', isFit: true, result: { extravars: { f: 2 } } })"

test.each([
  ['throws', `throw new Error('it broke')`, 'it broke'],
  ['ends itself', 'process.exit(0)', 'its thread ended'],
  [
    'says that it failed and throws',
    `port.postMessage({ kind: 'failed', reason: 'no engine' }); throw new Error('no engine')`,
    'no engine',
  ],
])('a thread that %s harms neither the service nor the next check', async (_, code, reason) => {
  const said: object[] = []
  const thread = threadThat(`if (input.values.isGood) ${DONE}; else { ${code} }`)
  checks = createLaunchChecks({ log: { warn: (fields) => void said.push(fields) }, script: thread, threads: 1 })
  expect((await checks.check(inputOf({}, {}), 'a')).details).toMatchObject({ waiting: ['form'] })
  expect(said).toEqual([{ field: null, reason: expect.stringContaining(reason) as string }])
  expect((await checks.check(inputOf({}, { isGood: true }), 'a')).extravars).toEqual({ f: 2 })
})

test('a thread that breaks down while it waits is given no check any more', async () => {
  const breaks = `${DONE}; if (!input.values.isLast) setTimeout(() => { throw new Error('it broke') }, 20)`
  checks = createLaunchChecks({ log, script: threadThat(breaks), threads: 1 })
  const made: Worker[] = []
  const note = (worker: Worker): void => void made.push(worker)
  process.on('worker', note)
  onTestFinished(() => void process.off('worker', note))
  await checks.check(inputOf({}, {}), 'a')
  // An ended thread has the number -1; its error was heard before that.
  await waitUntil('the thread has ended', () => made[0]?.threadId === -1)
  expect((await checks.check(inputOf({}, { isLast: true }), 'a')).extravars).toEqual({ f: 2 })
  expect(made).toHaveLength(2)
})

test('callers take turns: one with many checks does not hold up another', async () => {
  checks = createLaunchChecks({ log, script, threads: 1 })
  const order: string[] = []
  const ask = (caller: string) => checks?.check(local('1'), caller).then(() => order.push(caller))
  await Promise.all([...Array.from({ length: 20 }, () => ask('many')), ask('one')])
  expect(order.indexOf('one')).toBeLessThanOrEqual(2)
})

test('a caller with too many checks waiting is told to come back; others are not', async () => {
  const bounded = createLaunchChecks({ log, script, threads: 1, mostWaiting: 2, limitMs: 1500 })
  checks = bounded
  const taken = [STUCK, STUCK, STUCK].map((input) => bounded.check(input, 'many'))
  await expect(bounded.check(local('1'), 'many')).rejects.toThrow(TooManyError)
  expect((await bounded.check(local('1'), 'other')).extravars).toEqual({ f: 1 })
  await Promise.all(taken)
})

test('closing ends what runs and what waits, as a service that stops', async () => {
  const closing = createLaunchChecks({ log, script, threads: 1 })
  checks = closing
  const ends = Promise.allSettled([STUCK, local('1')].map((input) => closing.check(input, 'a')))
  await closing.close()
  for (const end of await ends)
    expect(end).toMatchObject({ status: 'rejected', reason: expect.any(UnavailableError) as Error })
  await expect(closing.check(local('1'), 'a')).rejects.toThrow(UnavailableError)
})
