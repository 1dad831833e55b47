import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { TooManyError, UnavailableError } from '../../../control-plane/src/errors.js'
import type { CheckInput } from '../../../control-plane/src/forms/check/context.js'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import { type LaunchChecks, createLaunchChecks } from '../../../control-plane/src/forms/sandbox/launch-checks.js'
import type { CheckReport } from '../../../control-plane/src/forms/sandbox/worker-messages.js'
import { waitUntil } from '../../agent/waiting.js'
import { ROOT } from '../../support/product.js'
import { heldTimers } from '../held-timers.js'

/** The threads in which launches are checked, as they were built. */
const script = pathToFileURL(join(ROOT, 'control-plane/dist/forms/sandbox/check-worker.js'))
const log = { warn: () => undefined }
/** No limit ends a check here, unless the test moves the time. */
const { timers } = heldTimers()
/** How long one check may take. */
const LIMIT_MS = 10_000

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

/** Checks with timers that only the test moves. */
function heldChecks(options: { readonly mostWaiting?: number } = {}) {
  const { timers: held, waitsFor, move } = heldTimers()
  return {
    checks: createLaunchChecks({ log, timers: held, script, threads: 1, ...options }),
    /** Ends the check that is under way, as one that takes too long. */
    async passLimit(): Promise<void> {
      await waitUntil('a check to begin', () => waitsFor(LIMIT_MS))
      move(LIMIT_MS)
    },
  }
}

/** Resolves when the next new thread comes to a field. */
function fieldOfNextThread(): Promise<unknown> {
  return new Promise((resolve) => {
    process.once('worker', (worker: Worker) =>
      worker.on('message', ({ kind }: CheckReport) => {
        if (kind === 'at') resolve(null)
      }),
    )
  })
}

test('a check that cannot be interrupted loses its thread and names the field, and the next check works', async () => {
  const held = heldChecks()
  checks = held.checks
  const atField = fieldOfNextThread()
  const stuck = checks.check(STUCK, 'a')
  const next = checks.check(local('1 + 1'), 'a')
  await atField
  await held.passLimit()
  expect((await stuck).details).toMatchObject({ waiting: ['f'] })
  expect((await next).extravars).toEqual({ f: 2 })
})

test('an engine that broke down ends its thread, not the service', async () => {
  checks = createLaunchChecks({ log, timers, script, threads: 1 })
  const deep = local('let a = []; for (let i = 0; i < 100000; i++) a = [a]; JSON.stringify(a)')
  expect((await checks.check(deep, 'a')).details.waiting).toEqual(['f'])
  expect((await checks.check(local('1 + 1'), 'a')).extravars).toEqual({ f: 2 })
})

test('callers take turns: one with many checks does not delay another', async () => {
  checks = createLaunchChecks({ log, timers, script, threads: 1 })
  const order: string[] = []
  const ask = (caller: string) => checks?.check(local('1'), caller).then(() => order.push(caller))
  await Promise.all([...Array.from({ length: 20 }, () => ask('many')), ask('one')])
  expect(order.indexOf('one')).toBeLessThanOrEqual(2)
})

test('a caller with too many waiting checks is refused for now; others are not', async () => {
  const { checks: bounded, passLimit } = heldChecks({ mostWaiting: 2 })
  checks = bounded
  const taken = [STUCK, STUCK, STUCK].map((input) => bounded.check(input, 'many'))
  await expect(bounded.check(local('1'), 'many')).rejects.toThrow(TooManyError)
  const other = bounded.check(local('1'), 'other')
  // The other caller had no turn yet, so it comes before the further checks of the first.
  await passLimit()
  expect((await other).extravars).toEqual({ f: 1 })
  await passLimit()
  await passLimit()
  await Promise.all(taken)
})

test('closing ends running and waiting checks with the error of a stopping service', async () => {
  const closing = createLaunchChecks({ log, timers, script, threads: 1 })
  checks = closing
  const ends = Promise.allSettled([STUCK, local('1')].map((input) => closing.check(input, 'a')))
  await closing.close()
  for (const end of await ends)
    expect(end).toMatchObject({ status: 'rejected', reason: expect.any(UnavailableError) as Error })
  await expect(closing.check(local('1'), 'a')).rejects.toThrow(UnavailableError)
})
