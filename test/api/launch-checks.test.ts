import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { TooManyError, UnavailableError } from '../../control-plane/src/errors.js'
import type { CheckInput } from '../../control-plane/src/forms/check/context.js'
import { parseFormFile } from '../../control-plane/src/forms/parse-form.js'
import { type LaunchChecks, createLaunchChecks } from '../../control-plane/src/forms/sandbox/launch-checks.js'
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
