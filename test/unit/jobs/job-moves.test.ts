import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConflictError } from '../../../control-plane/src/errors.js'
import { approvedBefore } from '../../../control-plane/src/jobs/approve/approving.js'
import { mayRun, takeBackOutdated } from '../../../control-plane/src/jobs/approve/outdated-approval.js'
import { abort, requireAbortable, requireDeletable } from '../../../control-plane/src/jobs/end/actions.js'
import { admit, admitNew, requirePlace } from '../../../control-plane/src/jobs/limits/places.js'
import { type JobApproval, awaitedApproval, decided } from '../../../control-plane/src/jobs/record/approval.js'
import { subjectChanges } from '../../../control-plane/src/jobs/record/approval-subject.js'
import { listAwaitingJobs } from '../../../control-plane/src/store/jobs/approvals.js'
import { readOutput } from '../../../control-plane/src/store/jobs/job-output.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { JOB_STATUSES, type JobStatus } from '../../../control-plane/src/words/job-status.js'
import { caller } from './launch-parts.js'
import { outputStore } from './stored-output.js'
import type { Store } from '../../../control-plane/src/store/store.js'

const admin = { ...caller, isAdmin: true }

let db: Awaited<ReturnType<typeof outputStore>>
beforeAll(async () => {
  db = await outputStore()
})
afterAll(() => db.close())

async function rowOf(id: number) {
  const job = await findJob(db.queries, id)
  if (!job) throw new Error('the job is gone')
  return job
}

async function outputOf(id: number): Promise<string> {
  let text = ''
  for await (const piece of readOutput(db.queries, id, 0)) text += piece.toString()
  return text
}

/** Ids of the jobs that wait for somebody's approval. */
const waiting = async () => (await listAwaitingJobs(db.queries, null, {}, 100)).map(({ id }) => id)

function approval(changes: Partial<JobApproval> = {}): JobApproval {
  const asked = { title: 'Look', message: null, roles: ['ops'], notifications: [], allowSelf: false }
  return { ...awaitedApproval(asked, {}, { manifest_sha256: 'old', form_sha256: 'form' }), ...changes }
}

/** The same, given by somebody. */
const given = (changes: Partial<JobApproval> = {}) =>
  JSON.stringify(decided(approval(changes), 'approved', { id: 5, username: 'ben', type: 'local' }, 3))

describe('the end of a job', () => {
  test.each(JOB_STATUSES)(
    'can be asked for while it runs, and of an abandoned one if that is meant: %s',
    async (status) => {
      const job = await rowOf(await db.job({ status, abort_requested: 0 }))
      const codeOf = (alsoAbandoned: boolean) => {
        try {
          requireAbortable(job, alsoAbandoned)
          return true
        } catch (error) {
          return (error as ConflictError).code
        }
      }
      expect(codeOf(false)).toBe(status === 'running' || 'not_running')
      expect(codeOf(true)).toBe(status === 'running' || status === 'abandoned' || 'not_running')
      expect(() => requireAbortable({ ...job, status: 'running', abort_requested: 1 }, false)).toThrow(
        'asked for before',
      )
    },
  )

  test('tells of an abandoned job, and of no other, how its abort can be kept', async () => {
    const textOf = async (status: JobStatus) => {
      const job = await rowOf(await db.job({ status }))
      return () => requireAbortable(job, false)
    }
    expect(await textOf('abandoned')).toThrow(/is not running but abandoned\. It may still run on its runner/)
    expect(await textOf('failed')).toThrow(/is not running but failed$/)
  })

  test.each(JOB_STATUSES)(
    'comes before it can be deleted, and a child job goes with its parent: %s',
    async (status) => {
      const job = await rowOf(await db.job({ status }))
      const isOpen = status === 'running' || status === 'approve'
      if (isOpen) expect(() => requireDeletable(job)).toThrow(`has not ended but is ${status}`)
      else expect(() => requireDeletable(job)).not.toThrow()
      expect(() => requireDeletable({ ...job, status: 'failed', parent_id: 4 })).toThrow('delete job 4')
    },
  )

  test.each([
    ['queued', 'running', false, 'aborted', []],
    ['parked', 'running', false, 'aborted', []],
    ['offered', 'running', false, 'running', ['runner 1']],
    ['claimed', 'running', false, 'running', ['runner 1']],
    ['claimed', 'abandoned', true, 'abandoned', ['runner 1']],
    ['queued', 'abandoned', true, 'abandoned', ['runner 1']],
    ['driven', 'running', false, 'running', ['advance']],
  ] as const)(
    'is stored at once only if no runner has the job: %s, %s',
    async (dispatch, status, kept, after, told) => {
      const job_type = dispatch === 'driven' ? 'multistep' : 'ansible'
      const id = await db.job({ dispatch, status, job_type, runner_id: 1, runner_name: 'one' })
      const calls: string[] = []
      const message = await abort(
        {
          store: db.store as Store,
          live: { changed: (what: string) => void calls.push(`changed ${what}`) } as Parameters<
            typeof abort
          >[0]['live'],
          clock: { now: () => 77 },
          runners: {
            jobQueued: () => undefined,
            abortRequested: (runner) => void calls.push(`runner ${runner}`),
          },
          sequences: { advance: () => void calls.push('advance'), jobEnded: () => void calls.push('ended') },
          uploads: { sweepSoon: () => undefined },
        },
        admin,
        id,
        kept,
      )
      const job = await rowOf(id)
      expect([job.status, job.abort_requested]).toEqual([after, 1])
      expect(calls).toEqual(['changed jobs', ...(after === 'aborted' ? ['ended'] : told)])
      expect(message).toContain(after === 'aborted' ? 'was aborted before it started' : 'was requested')
      expect(message.includes('is kept')).toBe(status === 'abandoned')
      expect(await outputOf(id)).toContain(after === 'aborted' ? 'before it started' : 'Abort requested by')
    },
  )
})

describe('an approval of another content', () => {
  test('does not count, and a job that was never approved runs what is there', () => {
    expect([mayRun({ approved_manifest: null }, 'x'), mayRun({ approved_manifest: 'x' }, 'x')]).toEqual([true, true])
    expect(mayRun({ approved_manifest: 'y' }, 'x')).toBe(false)
  })

  const takeBack = async (row: Parameters<typeof db.job>[0]) => {
    const id = await db.job({ dispatch: 'queued', approved_manifest: 'old', ...row })
    await db.store.write('test.back', (queries) => takeBackOutdated(queries, id, 'new', 50))
    return { id, job: await rowOf(id), output: await outputOf(id) }
  }

  test('is taken back, and the job asks for another one for what is there now', async () => {
    const { id, job, output } = await takeBack({ approval: given(), has_place: 1, wait_until: 9 })
    expect(job).toMatchObject({
      status: 'approve',
      dispatch: 'parked',
      approved_manifest: null,
      has_place: 0,
      wait_until: null,
    })
    expect(JSON.parse(job.approval ?? '')).toMatchObject({
      state: 'waiting',
      decided_by: null,
      subject: { manifest_sha256: 'new', form_sha256: 'form' },
    })
    expect(output).toContain('it waits for another one')
    expect(output).toContain('Waiting for an approval by ops or an admin')
    expect(await waiting()).toContain(id)
  })

  test.each([
    ['a child job, which asks nobody', { parent_id: 1, approval: given() }],
    ['a job without an approval', { approval: null }],
  ])('makes a job fail that can ask for no other: %s', async (_, row) => {
    const { job, output } = await takeBack(row)
    expect([job.status, job.dispatch]).toEqual(['failed', 'done'])
    expect(output).toContain('[ERROR]: The playbook folder changed after the approval')
  })

  test('ends a job as aborted whose abort was asked for', async () => {
    const { job, output } = await takeBack({ approval: given(), abort_requested: 1, abort_requested_by: 'ann' })
    expect([job.status, job.status_reason]).toEqual(['aborted', 'aborted by ann before it started'])
    expect(output).toContain('[WARNING]: aborted by ann')
  })

  test.each(['success', 'approve', 'abandoned'] as const)('changes nothing of a job that is %s', async (status) => {
    const { job, output } = await takeBack({ approval: given(), status })
    expect([job.status, job.approved_manifest, output]).toEqual([status, 'old', ''])
  })

  test('is told in words, and what was not known counts as changed', () => {
    const now = { manifest_sha256: 'b'.repeat(64), form_sha256: 'f' }
    expect(subjectChanges(now, now)).toEqual([])
    expect(subjectChanges({ ...now, manifest_sha256: 'a'.repeat(64) }, now)).toEqual([
      `the playbook folder (${'a'.repeat(12)} → ${'b'.repeat(12)})`,
    ])
    expect(subjectChanges({ manifest_sha256: null, form_sha256: null }, { ...now, form_sha256: null })).toEqual([
      `the playbook folder (unknown → ${'b'.repeat(12)})`,
      'the form (unknown → unknown)',
    ])
  })
})

test('a job that its runner has already counts as approved, runs, has its place, and its output says why', async () => {
  const id = await db.job({ status: 'approve', dispatch: 'parked', approval: JSON.stringify(approval()) })
  await db.store.write('test.before', (queries) => approvedBefore(queries, { id, runner_name: 'edge' }, 50))
  const job = await rowOf(id)
  expect(job).toMatchObject({ status: 'running', dispatch: 'queued', has_place: 1 })
  expect(JSON.parse(job.approval ?? '')).toMatchObject({ state: 'approved' })
  expect(await outputOf(id)).toContain("The runner 'edge' has this job already")
  expect(await waiting()).not.toContain(id)
})

describe('the texts of an approval', () => {
  test.each([
    [200, 200],
    [201, 200],
  ])('a title of %i characters is shown with %i', (length, shown) => {
    const asked = {
      title: 'x'.repeat(length),
      message: 'y'.repeat(4001),
      roles: [],
      notifications: [],
      allowSelf: true,
    }
    const { title, message } = awaitedApproval(asked, {}, { manifest_sha256: null, form_sha256: null })
    expect(title).toBe(length === shown ? 'x'.repeat(200) : `${'x'.repeat(199)}…`)
    expect(message).toBe(`${'y'.repeat(3999)}…`)
  })

  test('have the values of placeholders, without what would command a terminal', () => {
    const asked = { title: 'To\n$(host)', message: '$(host)\n$(gone)', roles: [], notifications: [], allowSelf: true }
    const subject = { manifest_sha256: null, form_sha256: null }
    const { title, message } = awaitedApproval(asked, { host: 'a\u001b[2Jb' }, subject)
    expect([title, message?.startsWith('a [2Jb\n')]).toEqual(['To a [2Jb', true])
  })
})

describe('a group', () => {
  const member = (group: string, row: object = {}) =>
    db.job({ concurrency_group: group, concurrency_limit: 2, dispatch: 'parked', runner_id: 1, ...row })
  const holder = (group: string) => member(group, { dispatch: 'claimed', has_place: 1 })
  const admitted = (group: string) => db.store.write('test.admit', (queries) => admit(queries, group, 60))

  test('gives its free places to those that wait, oldest first, and to parent jobs, too', async () => {
    const [one, two, three] = [await member('a'), await member('a', { job_type: 'multistep' }), await member('a')]
    expect(await admitted('a')).toEqual([
      { id: one, runnerId: 1 },
      { id: two, runnerId: null },
    ])
    expect([(await rowOf(one)).dispatch, (await rowOf(two)).dispatch, (await rowOf(three)).dispatch]).toEqual([
      'queued',
      'driven',
      'parked',
    ])
    expect(await admitted('a')).toEqual([])
  })

  test('lets no job overtake another one that asks for more room', async () => {
    await holder('b')
    await member('b', { concurrency_limit: 1 })
    await member('b', { concurrency_limit: 9 })
    expect(await admitted('b')).toEqual([])
  })

  test.each([
    [1, 1, '1 job', 'job', ''],
    [2, 2, '2 jobs', 'jobs', ''],
    [10, 10, '10 jobs', 'jobs', ''],
    [11, 11, '11 jobs', 'jobs', ' and 1 more'],
    [3, 12, '3 jobs', 'jobs', ' and 2 more'],
  ])('with %i places and %i jobs says what a new job waits for', async (limit, holders, most, word, more) => {
    const name = `group of ${limit} and ${holders}`
    const ids: number[] = []
    for (let count = 0; count < holders; count += 1) ids.push(await holder(name))
    const id = await member(name, { concurrency_limit: limit })
    const group = { name, limit }
    expect(await db.store.write('test.new', (queries) => admitNew(queries, id, group, 60))).toEqual([])
    const full = `in the group '${name}' only ${most} may run at once (${word} ${ids.slice(0, 10).join(', ')}${more})`
    expect(await outputOf(id)).toBe(`Waiting for a place: ${full}\n`)
    await expect(requirePlace(db.queries, { group: name, limit, on: 'refuse' })).rejects.toThrow(ConflictError)
    await requirePlace(db.queries, { group: name, limit, on: 'queue' })
  })

  test('with a free place refuses nobody, unless another one waits for it', async () => {
    const ask = () => requirePlace(db.queries, { group: 'c', limit: 2, on: 'refuse' })
    await holder('c')
    await ask()
    const id = await member('c')
    await expect(ask()).rejects.toThrow(`, ${id})`)
  })

  test('is none for a job whose form names none', async () => {
    const id = await db.job({ dispatch: 'parked' })
    expect(await db.store.write('test.new', (queries) => admitNew(queries, id, null, 60))).toEqual([])
    expect(await outputOf(id)).toBe('')
  })
})
