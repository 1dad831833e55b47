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
  const refused = Promise.allSettled(Array.from({ length: THREADS + 2 }, () => checks.check(INPUT, 'ann')))
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
