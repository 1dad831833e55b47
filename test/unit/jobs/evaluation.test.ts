import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import { HoldfastError } from '../../../control-plane/src/errors.js'
import { NOTHING_WRONG } from '../../../control-plane/src/forms/check/report.js'
import { type EvaluateRequest, createFormEvaluation } from '../../../control-plane/src/jobs/launch/evaluate.js'
import type { LaunchDependencies } from '../../../control-plane/src/jobs/launch/launch.js'
import { insertRunner } from '../../../control-plane/src/store/runners/runners.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { RUNNER_ROW } from '../../support/runner-row.js'
import { waitFor } from '../../support/wait.js'
import { caller, form } from './launch-parts.js'

/** Most evaluations of one user at a time. */
const MOST = 4
const REQUEST: EvaluateRequest = {
  formName: 'f',
  rawFormData: {},
  files: {},
  rowsToShow: [],
  waitMs: 10,
  signal: new AbortController().signal,
}

async function made(result: object = {}) {
  const queries = await memoryDatabase()
  const waiting: (() => void)[] = []
  const asked: { readonly check: object; readonly how: object }[] = []
  const state = { holds: false }
  const { evaluate } = createFormEvaluation({
    store: { read: queries },
    uploads: { path: '/uploads' },
    clock: { now: () => 5 },
    maskPattern: /token/,
    sequences: {},
    forms: {
      find: () => Promise.resolve(form({ passwordFields: ['pw'] })),
      contextOf: () => Promise.resolve({ subforms: {}, constants: {} }),
    },
    checks: {
      async check(check: object, how: object) {
        asked.push({ check, how })
        if (state.holds) await new Promise<void>((resolve) => waiting.push(resolve))
        return { details: NOTHING_WRONG, extravars: {}, credentials: {}, passwords: [], ...result }
      },
    },
  } as unknown as LaunchDependencies)
  return {
    queries,
    waiting,
    asked,
    state,
    evaluate,
    async codeOf(request: Partial<EvaluateRequest> = {}, who: Caller = caller) {
      try {
        await evaluate(who, { ...REQUEST, ...request })
        return 'good'
      } catch (error) {
        if (error instanceof HoldfastError) return error.code
        throw error
      }
    },
  }
}

describe('the evaluations of one user', () => {
  test(`are at most ${MOST} at a time, and each that ends makes room for one`, async () => {
    const { waiting, state, codeOf } = await made()
    state.holds = true
    const running = Array.from({ length: MOST }, () => codeOf())
    await waitFor('all to run', () => waiting.length === MOST)
    expect(await codeOf()).toBe('too_many_evaluations')
    // Another user is not concerned.
    const other = codeOf({}, { ...caller, username: 'ben' })
    await waitFor('the other one to run', () => waiting.length === MOST + 1)
    waiting.shift()?.()
    expect(await Promise.race(running)).toBe('good')
    running.push(codeOf())
    await waitFor('the next to run', () => waiting.length === MOST + 1)
    expect(await codeOf()).toBe('too_many_evaluations')
    for (const go of waiting.splice(0)) go()
    expect(await Promise.all([...running, other])).toEqual(Array(MOST + 2).fill('good'))
    state.holds = false
    expect(await codeOf()).toBe('good')
  })

  test('that are refused do not count', async () => {
    const { codeOf } = await made()
    let deep: object = {}
    for (let depth = 0; depth < 200; depth += 1) deep = { deep }
    for (let count = 0; count < 2 * MOST; count += 1) {
      expect(await codeOf({ rawFormData: { deep } })).toBe('too_deep')
      expect(await codeOf({ files: { deep } })).toBe('too_deep')
    }
    expect(await codeOf()).toBe('good')
  })
})

describe('an evaluation', () => {
  test('only shows: it may use answers that are known', async () => {
    const { asked, codeOf } = await made()
    await codeOf({ rowsToShow: [['rows', 1]] })
    expect(asked).toMatchObject([
      { check: { isShowing: true, rowsToShow: [['rows', 1]] }, how: { mayReuse: true, waitMs: 10 } },
    ])
  })

  test('says where the job would run, or why it would not', async () => {
    const { evaluate, queries } = await made()
    const runs = async () => (await evaluate(caller, REQUEST)).runs
    expect(await runs()).toMatchObject({
      runner: null,
      problem: expect.stringContaining('no default runner') as string,
    })
    await insertRunner(queries, { ...RUNNER_ROW, is_default: 1 })
    expect(await runs()).toMatchObject({ runner: 'one', problem: null })
    await queries.updateTable('runner').set({ enabled: 0 }).execute()
    expect(await runs()).toMatchObject({ runner: 'one', problem: "The runner 'one' is turned off" })
  })

  test('shows each field with its own errors, and not that it waits', async () => {
    const required = { type: 'required', description: 'It is needed' }
    const shown = {
      fields: { a: { shown: true, required: true }, b: { shown: true, required: false } },
      steps: { s: { shown: true, fields: { c: { shown: true, required: false } } } },
      rows: [
        {
          row: ['rows', 0],
          fields: { d: { shown: true, required: false }, toString: { shown: true } },
          errors: { d: [required] },
        },
      ],
    }
    const validationErrors = {
      a: [{ type: 'waiting', description: 'It waits' }, required],
      's.c': [required],
    }
    const { evaluate } = await made({ shown, details: { ...NOTHING_WRONG, validationErrors } })
    const { fields, steps, shownRows } = await evaluate(caller, REQUEST)
    expect(fields).toEqual({
      a: { shown: true, required: true, errors: [required] },
      b: { shown: true, required: false, errors: [] },
    })
    expect(steps).toMatchObject({ s: { errors: [], fields: { c: { errors: [required] } } } })
    expect(shownRows).toMatchObject([
      { row: ['rows', 0], fields: { d: { errors: [required] }, toString: { errors: [] } } },
    ])
  })

  test('never contains passwords', async () => {
    const extravars = { pw: 'x', my_token: 'y', a: 1 }
    const { evaluate } = await made({ extravars })
    expect((await evaluate(caller, REQUEST)).runs.extravars).toEqual({ pw: '********', my_token: '********', a: 1 })
  })
})
