import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import { HoldfastError } from '../../../control-plane/src/errors.js'
import { abort, removeJob } from '../../../control-plane/src/jobs/end/actions.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import type { Queries, Store } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { caller } from './launch-parts.js'

/** The end and the deletion of jobs by people: what is refused, and what happens meanwhile. */
const ann: Caller = { ...caller, id: 1 }
const cem: Caller = { ...caller, id: 2, username: 'cem' }
const ENDED = { status: 'success', dispatch: 'done', end_time: 5 } as const

async function made() {
  const queries = await memoryDatabase()
  const told: string[] = []
  const note = (text: string) => void told.push(text)
  const state = { meanwhile: (): Promise<unknown> => Promise.resolve() }
  const dependencies = {
    store: {
      read: queries,
      async write(_: string, task: (queries: Queries) => unknown) {
        await state.meanwhile()
        return task(queries)
      },
    } as unknown as Store,
    live: { changed: (name: string) => note(`changed ${name}`), subscribe: () => () => undefined },
    clock: { now: () => 77 },
    runners: { jobQueued: () => undefined, abortRequested: (id: number) => note(`abort at ${id}`) },
    sequences: { advance: (id: number) => note(`advance ${id}`), jobEnded: () => note('ended') },
    uploads: { sweepSoon: () => note('sweep') },
  }
  let runs = 0
  const attempt = async (act: () => Promise<string>) => {
    try {
      return await act()
    } catch (error) {
      if (error instanceof HoldfastError) return { code: error.code, message: error.message }
      throw error
    }
  }
  return {
    queries,
    told,
    state,
    /** A job of ann. */
    add: (job: Partial<NewJob> = {}): Promise<number> =>
      insertJob(queries, { ...queuedJob(5, String((runs += 1)).padStart(32, '0')), user_id: 1, ...job }),
    row: (id: number) => findJob(queries, id),
    abort: (id: number, alsoAbandoned?: boolean, who = ann) =>
      attempt(() => abort(dependencies, who, id, alsoAbandoned)),
    remove: (id: number, who = ann) => attempt(() => removeJob(dependencies, who, id)),
  }
}

describe('an abort', () => {
  test('is for who may change the job', async () => {
    const { add, abort, row, told } = await made()
    const id = await add()
    expect(await abort(id, false, cem)).toMatchObject({ code: 'not_your_job' })
    expect(await abort(99)).toMatchObject({ code: 'job_not_found' })
    expect((await row(id))?.status).toBe('running')
    expect(told).toEqual([])
  })

  test.each<[string, Partial<NewJob>, boolean, string]>([
    ['of a job that has ended', ENDED, false, 'not_running'],
    ['of an abandoned job, if that is not meant', { status: 'abandoned', dispatch: 'claimed' }, false, 'not_running'],
    ['that was asked for before', { abort_requested: 1, dispatch: 'claimed' }, false, 'abort_pending'],
    [
      'of an abandoned job that was asked for before',
      { status: 'abandoned', abort_requested: 1, dispatch: 'claimed' },
      true,
      'abort_pending',
    ],
  ])('%s is refused', async (_, job, alsoAbandoned, code) => {
    const { add, abort, told } = await made()
    expect(await abort(await add(job), alsoAbandoned)).toMatchObject({ code })
    expect(told).toEqual([])
  })

  test('of an abandoned job needs that it is meant', async () => {
    const { add, abort } = await made()
    const id = await add({ status: 'abandoned', dispatch: 'claimed' })
    expect(await abort(id)).toMatchObject({ code: 'not_running' })
    expect(await abort(id, true)).toContain('is kept')
  })

  test('of a job that somebody else ends, aborts or deletes at the same time is refused', async () => {
    const { add, abort, queries, state, told } = await made()
    const during = async (act: (id: number) => Promise<unknown>) => {
      const id = await add({ dispatch: 'claimed' })
      state.meanwhile = () => act(id)
      return abort(id)
    }
    const update = (changes: object) => (id: number) =>
      queries.updateTable('job').set(changes).where('id', '=', id).execute()
    expect(await during(update(ENDED))).toMatchObject({ code: 'not_running' })
    expect(await during(update({ abort_requested: 1 }))).toMatchObject({ code: 'abort_pending' })
    const gone = (id: number) => queries.deleteFrom('job').where('id', '=', id).execute()
    expect(await during(gone)).toMatchObject({ code: 'job_not_found' })
    expect(told).toEqual([])
  })

  test('of a job without a runner tells no runner', async () => {
    const { add, abort, told } = await made()
    await abort(await add({ dispatch: 'claimed', runner_id: null }))
    expect(told).toEqual(['changed jobs'])
  })
})

describe('the deletion of a job', () => {
  test('removes it with its child jobs, and its uploads are looked at soon', async () => {
    const { add, remove, row, told } = await made()
    const id = await add({ ...ENDED, job_type: 'multistep' })
    const child = await add({ ...ENDED, parent_id: id })
    expect(await remove(id)).toBe(`Job ${id} was deleted`)
    expect([await row(id), await row(child)]).toEqual([null, null])
    expect(told).toEqual(['changed jobs', 'sweep'])
  })

  test('is for who may change the job', async () => {
    const { add, remove, row, told } = await made()
    const id = await add(ENDED)
    expect(await remove(id, cem)).toMatchObject({ code: 'not_your_job' })
    expect(await remove(99)).toMatchObject({ code: 'job_not_found' })
    expect(await row(id)).not.toBeNull()
    expect(told).toEqual([])
  })

  test('says why it is refused', async () => {
    const { add, remove, told } = await made()
    const running = await add({ job_type: 'multistep', dispatch: 'driven' })
    expect(await remove(running)).toEqual({
      code: 'not_ended',
      message: `Job ${running} has not ended but is running`,
    })
    const early = await add({ ...ENDED, parent_id: running })
    expect(await remove(early)).toMatchObject({ code: 'part_of_a_job' })
    const open = await add({ parent_id: running })
    expect(await remove(open)).toMatchObject({ message: `Job ${open} has not ended but is running` })
    const whole = await add({ ...ENDED, job_type: 'multistep' })
    await add({ parent_id: whole })
    expect(await remove(whole)).toEqual({
      code: 'not_ended',
      message: `A child job of job ${whole} has not ended`,
    })
    expect(told).toEqual([])
  })

  test('of a child job that ends meanwhile, while its parent job runs, is refused for its parent job', async () => {
    const { add, remove, queries, state } = await made()
    const parent = await add({ job_type: 'multistep', dispatch: 'driven' })
    const id = await add({ parent_id: parent })
    state.meanwhile = () => queries.updateTable('job').set(ENDED).where('id', '=', id).execute()
    expect(await remove(id)).toEqual({
      code: 'not_ended',
      message: `Job ${id} is a child job of job ${parent}, which has not ended but is running`,
    })
  })

  test('of a job that somebody else deletes at the same time is refused', async () => {
    const { add, remove, queries, state, told } = await made()
    const id = await add(ENDED)
    state.meanwhile = () => queries.deleteFrom('job').where('id', '=', id).execute()
    expect(await remove(id)).toMatchObject({ code: 'job_not_found' })
    expect(told).toEqual([])
  })
})
