import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import type { CheckInput } from '../../../control-plane/src/forms/check/context.js'
import { runInThread, type ThreadEnd } from '../../../control-plane/src/forms/sandbox/check-thread.js'
import { createLaunchChecks } from '../../../control-plane/src/forms/sandbox/launch-checks.js'
import { heldTimers } from '../../api/held-timers.js'

const THREADS = 6

const INPUT: CheckInput = {
  fields: [],
  wizard: [],
  subforms: {},
  values: {},
  uploads: {},
  constants: {},
  user: {},
  now: 0,
}

/** A script of a thread that begins a check and never ends it. */
function endlessScript(): URL {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-threads-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
  const path = join(folder, 'endless.mjs')
  writeFileSync(
    path,
    `import { parentPort } from 'node:worker_threads'\nparentPort.on('message', () => { for (;;); })\n`,
  )
  return pathToFileURL(path)
}

const threadsOfThisProcess = () => readdirSync('/proc/self/task').length

test('a stop ends busy threads, and refuses running and waiting checks', async () => {
  const before = threadsOfThisProcess()
  const log = { warn: () => undefined }
  const { timers, count } = heldTimers()
  const checks = createLaunchChecks({ log, timers, threads: THREADS, script: endlessScript() })
  const refused = Promise.allSettled(Array.from({ length: THREADS + 2 }, (_, at) => checks.check(INPUT, `user ${at}`)))
  await expect.poll(threadsOfThisProcess).toBeGreaterThanOrEqual(before + THREADS)
  const during = threadsOfThisProcess()
  expect(count()).toBe(THREADS)
  await checks.close()
  expect(count()).toBe(0)
  for (const outcome of await refused) expect(outcome).toMatchObject({ reason: { code: 'stopping' } })
  await expect.poll(threadsOfThisProcess).toBeLessThanOrEqual(during - THREADS)
  await expect(checks.check(INPUT, 'ann')).rejects.toMatchObject({ code: 'stopping' })
})

/** One check in a thread that does nothing by itself. */
function heldCheck(change: Partial<CheckInput> = {}) {
  const { timers, move, count } = heldTimers()
  const worker = new Worker('setInterval(() => {}, 1000)', { eval: true })
  onTestFinished(async () => {
    await worker.terminate()
  })
  const ends: ThreadEnd[] = []
  const reasons: unknown[] = []
  const log = { warn: (fields: object) => void reasons.push(fields) }
  const leave = runInThread(worker, { ...INPUT, ...change }, { log, timers }, (end) => void ends.push(end))
  return { worker, ends, reasons, move, count, leave }
}

test.each<[string, (held: ReturnType<typeof heldCheck>) => void, string]>([
  ['no thread is ready', ({ move }) => move(60_000), 'had no thread within 60000 ms'],
  [
    'the check takes too long',
    ({ worker, move }) => {
      worker.emit('message', { kind: 'begins' })
      worker.emit('message', { kind: 'at', field: 'slow' })
      move(10_000)
    },
    'took longer than 10000 ms',
  ],
  ['the thread says so', ({ worker }) => worker.emit('message', { kind: 'failed', reason: 'is broken' }), 'is broken'],
  ['the thread fails', ({ worker }) => worker.emit('error', new Error('no memory')), 'no memory'],
  ['the thread ends', ({ worker }) => worker.emit('exit', 1), 'its thread ended'],
])('a check is given up when %s, and the thread is not used again', (_, happen, reason) => {
  const held = heldCheck()
  happen(held)
  const field = reason.startsWith('took') ? 'slow' : 'form'
  expect(held.ends).toMatchObject([
    {
      isFit: false,
      result: {
        details: {
          waiting: [field],
          validationErrors: { [field]: [{ description: `the check of the values was given up: it ${reason}` }] },
        },
      },
    },
  ])
  expect(held.reasons).toEqual([{ field: reason.startsWith('took') ? 'slow' : null, reason }])
  // It ends once, whatever else the thread says.
  held.worker.emit('exit', 1)
  held.move(120_000)
  expect([held.ends.length, held.count()]).toEqual([1, 0])
})

test('a check whose values cannot be handed to a thread is given up at once', () => {
  const { ends, count } = heldCheck({ values: { x: () => 'a function' } })
  expect(ends).toMatchObject([{ isFit: false, result: { details: { waiting: ['form'] } } }])
  expect(count()).toBe(0)
})

test('a check that was left says nothing more, and a failing thread disturbs nobody', () => {
  const { worker, ends, count, leave } = heldCheck()
  leave()
  expect(worker.emit('error', new Error('it is being ended'))).toBe(true)
  expect([ends, count()]).toEqual([[], 0])
})

/** A script of a thread that does each check at once, and says in which thread. */
function answeringScript(): URL {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-threads-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
  const path = join(folder, 'answering.mjs')
  writeFileSync(
    path,
    `import { parentPort, threadId, workerData } from 'node:worker_threads'
parentPort.on('message', ({ input: { values } }) => {
  const result = { extravars: { thread: threadId, name: values.name, ...workerData } }
  parentPort.postMessage({ kind: 'done', result, isFit: !values.isUnfit })
  if (values.dies) setImmediate(() => { throw new Error('it died') })
})\n`,
  )
  return pathToFileURL(path)
}

/** Checks in such threads. What is not said is as in the service. */
function answering(more: { threads?: number; mostWaiting?: number; script?: URL; locale?: string } = {}) {
  const log = { warn: () => undefined }
  const checks = createLaunchChecks({ log, timers: heldTimers().timers, script: answeringScript(), ...more })
  onTestFinished(() => checks.close())
  const check = async (name: string, values: object = {}, caller = 'ann') =>
    (await checks.check({ ...INPUT, values: { name, ...values } }, caller)).extravars as { thread: number }
  return { check, checks }
}

test('callers take turns, and each of their checks is done', async () => {
  const { check } = answering({ threads: 1 })
  const order: string[] = []
  const asked = ['ann 1', 'ann 2', 'ann 3', 'ann 4', 'bob 1', 'cem 1', 'bob 2']
  await Promise.all(
    asked.map(async (name) => {
      await check(name, {}, name.slice(0, 3))
      order.push(name)
    }),
  )
  expect(order).toEqual(['ann 1', 'bob 1', 'cem 1', 'ann 2', 'bob 2', 'ann 3', 'ann 4'])
})

test('a thread is used again, unless its check made it unfit or it died while it waited', async () => {
  const { check } = answering({ threads: 1, locale: 'de' })
  const first = await check('one')
  expect(first).toMatchObject({ name: 'one', locale: 'de' })
  expect((await check('two')).thread).toBe(first.thread)
  expect((await check('three', { isUnfit: true })).thread).toBe(first.thread)
  const second = await check('four', { dies: true })
  expect(second.thread).not.toBe(first.thread)
  await expect.poll(async () => (await check('five').catch(() => second)).thread).not.toBe(second.thread)
  const third = await check('six')
  expect((await check('seven')).thread).toBe(third.thread)
})

test('unfit threads are ended', async () => {
  const { check } = answering({ threads: THREADS })
  const each = (values: object) => Promise.all(Array.from({ length: THREADS }, (_, at) => check(`${at}`, values)))
  const used = new Set((await each({})).map(({ thread }) => thread))
  const before = threadsOfThisProcess()
  await each({ isUnfit: true })
  await expect.poll(threadsOfThisProcess).toBeLessThanOrEqual(before - used.size)
})

test('two checks of one caller are under way at once, and 200 more wait; another caller has a thread, too', async () => {
  const { check, checks } = answering({ script: endlessScript() })
  const all = Array.from({ length: 202 }, (_, at) => check(`${at}`))
  const outcomes = Promise.allSettled([...all, check('other', {}, 'bob')])
  await expect(check('more')).rejects.toMatchObject({ code: 'too_many_launches' })
  await checks.close()
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({ reason: { code: 'stopping' } })
  }
})
