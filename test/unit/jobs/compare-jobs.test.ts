import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import { HoldfastError } from '../../../control-plane/src/errors.js'
import { Course } from '../../../control-plane/src/jobs/course/course.js'
import { type CompareDependencies, readComparison } from '../../../control-plane/src/jobs/detail/compare.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { insertSequence } from '../../../control-plane/src/store/jobs/sequences.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { caller } from './launch-parts.js'

const ann: Caller = { ...caller, id: 1, roles: [] }
const admin: Caller = { ...ann, id: 9, isAdmin: true }
const ENDED = { status: 'success', dispatch: 'done', end_time: 9 } as const

async function made() {
  const queries = await memoryDatabase()
  const reading = { queries, maskPattern: /secret/, passwordFieldsOf: () => Promise.resolve(new Set(['now'])) }
  const courses = { of: () => Promise.resolve(new Course()) }
  let runs = 0
  return {
    queries,
    /** A job of ann. */
    add: (job: Partial<NewJob> = {}): Promise<number> =>
      insertJob(queries, { ...queuedJob(1, String((runs += 1)).padStart(32, '0')), user_id: 1, ...job }),
    async compare(id: number, withId: number | null, who = ann) {
      try {
        return await readComparison({ reading, courses } as unknown as CompareDependencies, who, id, withId)
      } catch (error) {
        if (error instanceof HoldfastError) return error.code
        throw error
      }
    },
  }
}

describe('the job with which another one is compared', () => {
  test('is the last good one before it that the caller may see', async () => {
    const { add, compare } = await made()
    await add(ENDED)
    const own = await add(ENDED)
    const others = await add({ ...ENDED, user_id: 2 })
    await add({ ...ENDED, status: 'failed' })
    await add({ ...ENDED, form: 'another' })
    const id = await add()
    await add(ENDED)
    expect(await compare(id, null)).toMatchObject({ job: { id }, with: { id: own } })
    expect(await compare(id, null, admin)).toMatchObject({ with: { id: others } })
  })

  test('is that which is asked for, if the caller may see it', async () => {
    const { add, compare } = await made()
    const [own, others, id] = [await add(ENDED), await add({ ...ENDED, user_id: 2 }), await add()]
    expect(await compare(id, own)).toMatchObject({ with: { id: own } })
    expect(await compare(id, others)).toBe('not_your_job')
    expect(await compare(others, id)).toBe('not_your_job')
    expect(await compare(id, 99)).toBe('job_not_found')
  })

  test('may not be there at all', async () => {
    const { add, compare } = await made()
    expect(await compare(await add(), null)).toBe('no_run_to_compare')
  })
})

test('variables that are a secret of one of the jobs are shown of neither', async () => {
  const { add, compare } = await made()
  const one = await add({ extravars: JSON.stringify({ a: 1, then: 'x', now: 'x', my_secret: 'x', b: 2 }) })
  const other = await add({
    extravars: JSON.stringify({ a: 1, then: 'y', now: 'y', my_secret: 'y', b: 3 }),
    password_fields: '["then"]',
  })
  const { extravars } = (await compare(one, other)) as Exclude<Awaited<ReturnType<typeof compare>>, string>
  expect(extravars).toMatchObject({ count: 1, records: [{ path: ['b'], value: 2, with_value: 3 }] })
})

test('steps are compared by their names, with the time that they took', async () => {
  const { add, compare, queries } = await made()
  const parent = { job_type: 'multistep', dispatch: 'driven' } as const
  const [one, other] = [await add(parent), await add(parent)]
  await insertSequence(queries, one, { plan: '{}', nodes: ['both', 'began', 'only here'] })
  await insertSequence(queries, other, { plan: '{}', nodes: ['both', 'began', 'only there'] })
  const set = (id: number, identifier: string, columns: object) =>
    queries
      .updateTable('sequence_node')
      .set(columns)
      .where('job_id', '=', id)
      .where('identifier', '=', identifier)
      .execute()
  await set(one, 'both', { status: 'success', start_time: 1000, end_time: 3500, subjob_id: 7 })
  await set(other, 'both', { status: 'failed', start_time: 2000, end_time: 1000, subjob_id: 8 })
  await set(one, 'began', { status: 'running', start_time: 1000 })
  await set(other, 'began', { status: 'do not run', end_time: 1000 })
  const { steps } = (await compare(one, other)) as Exclude<Awaited<ReturnType<typeof compare>>, string>
  const row = (identifier: string) => steps.find((step) => step.identifier === identifier)
  expect(steps).toHaveLength(4)
  expect(row('both')).toMatchObject({
    status: 'success',
    with_status: 'failed',
    job: 7,
    with_job: 8,
    seconds: 2.5,
    with_seconds: 0,
  })
  expect(row('began')).toMatchObject({ seconds: null, with_seconds: null })
  expect(row('only here')).toMatchObject({ status: 'waiting', with_status: null, with_seconds: null })
  expect(row('only there')).toMatchObject({ status: null, with_status: 'waiting', seconds: null })
})
