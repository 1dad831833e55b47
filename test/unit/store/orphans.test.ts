import { beforeEach, describe, expect, test } from 'vitest'
import {
  decideOrphan,
  deleteOrphan,
  deleteOtherOrphans,
  deletePastRunsBefore,
  findOrphan,
  findPastRuns,
  findRunnersWithDecisions,
  listOrphans,
  noteOrphan,
  notePastRuns,
} from '../../../control-plane/src/store/jobs/orphans.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { memoryDatabase } from '../../support/memory-database.js'

let queries: Queries

beforeEach(async () => {
  queries = await memoryDatabase()
})

const REPORT = {
  runner_id: 1,
  run_id: 'a',
  job_number: 7,
  reason: 'other_service',
  service: 'aa:bb',
  ended: 1,
  form: 'f',
  user_name: 'ann',
  user_type: 'ldap',
  claimed_at: 5,
  reported_at: 9,
} as const
const put = (report: Partial<Parameters<typeof noteOrphan>[1]> = {}) => noteOrphan(queries, { ...REPORT, ...report })
const ids = async (runnerId?: number) =>
  (await listOrphans(queries, runnerId)).map((orphan) => `${orphan.runnerId}${orphan.runId}`)

describe('a job that waits for an admin', () => {
  test('is shown as its runner reported it', async () => {
    await put()
    expect(await findOrphan(queries, 1, 'a')).toEqual({
      runnerId: 1,
      runId: 'a',
      jobNumber: 7,
      reason: 'other_service',
      service: 'aa:bb',
      ended: true,
      outputBytes: 0,
      eventsBytes: 0,
      form: 'f',
      userName: 'ann',
      userType: 'ldap',
      claimedAt: 5,
      reportedAt: 9,
      decision: null,
      decidedBy: null,
    })
    expect([await findOrphan(queries, 2, 'a'), await findOrphan(queries, 1, 'b')]).toEqual([null, null])
  })

  test.each(['other_service', 'other_runner', 'no_description'])('has its reason: %s', async (reason) => {
    await put({ reason, ended: 0 })
    expect(await findOrphan(queries, 1, 'a')).toMatchObject({ reason, ended: false })
  })

  test('whose reason no release has counts as one without a description', async () => {
    await put({ reason: 'of a later release' })
    expect((await findOrphan(queries, 1, 'a'))?.reason).toBe('no_description')
  })

  test('keeps the decision when it is reported again', async () => {
    await put({ output_bytes: 5, events_bytes: 6 })
    expect(await decideOrphan(queries, { runnerId: 1, runId: 'a' }, 'adopt', 'ann')).toBe(true)
    await put({ ended: 0, reported_at: 20 })
    expect(await findOrphan(queries, 1, 'a')).toMatchObject({
      decision: 'adopt',
      decidedBy: 'ann',
      ended: false,
      reportedAt: 20,
      outputBytes: 5,
      eventsBytes: 6,
    })
    expect(await listOrphans(queries)).toHaveLength(1)
  })

  test.each(['adopt', 'end', 'forget', null] as const)(
    'is decided about, as long as it waits: %s',
    async (decision) => {
      await put()
      await put({ runner_id: 2 })
      await put({ run_id: 'b' })
      const by = decision === null ? null : 'ann'
      expect(await decideOrphan(queries, { runnerId: 1, runId: 'a' }, decision, by)).toBe(true)
      expect(await decideOrphan(queries, { runnerId: 1, runId: 'c' }, decision, by)).toBe(false)
      expect(await decideOrphan(queries, { runnerId: 3, runId: 'a' }, decision, by)).toBe(false)
      const decisions = (await listOrphans(queries)).map((orphan) => [orphan.decision, orphan.decidedBy])
      expect(decisions).toEqual([
        [decision, by],
        [null, null],
        [null, null],
      ])
      expect(await findRunnersWithDecisions(queries)).toEqual(decision === null ? [] : [1])
    },
  )
})

describe('the jobs that wait for an admin', () => {
  beforeEach(async () => {
    await put({ runner_id: 2, run_id: 'x', job_number: 1 })
    await put({ runner_id: 1, run_id: 'c', job_number: 8 })
    await put({ runner_id: 1, run_id: 'b', job_number: 8 })
    await put({ runner_id: 1, run_id: 'd', job_number: 3 })
  })

  test('are listed by runner, number and run, all or those of one runner', async () => {
    expect(await ids()).toEqual(['1d', '1b', '1c', '2x'])
    expect(await ids(1)).toEqual(['1d', '1b', '1c'])
    expect(await ids(3)).toEqual([])
  })

  test('are removed one by one', async () => {
    await deleteOrphan(queries, 1, 'x')
    await deleteOrphan(queries, 1, 'b')
    expect(await ids()).toEqual(['1d', '1c', '2x'])
  })

  test('are removed when their runner does not name them any more', async () => {
    await deleteOtherOrphans(queries, 1, ['b', 'other'])
    expect(await ids()).toEqual(['1b', '2x'])
    await deleteOtherOrphans(queries, 1, [])
    expect(await ids()).toEqual(['2x'])
  })
})

describe('the runs of deleted jobs', () => {
  test('are remembered as at first, until they are forgotten', async () => {
    await notePastRuns(queries, [], 5)
    await notePastRuns(
      queries,
      [
        { runId: 'a', how: 'asked' },
        { runId: 'b', how: 'stored' },
      ],
      5,
    )
    await notePastRuns(
      queries,
      [
        { runId: 'a', how: 'stored' },
        { runId: 'c', how: 'stored' },
      ],
      6,
    )
    const found = () => findPastRuns(queries, ['a', 'b', 'c', 'd'])
    expect(await found()).toEqual(
      new Map([
        ['a', 'asked'],
        ['b', 'stored'],
        ['c', 'stored'],
      ]),
    )
    expect(await findPastRuns(queries, ['c'])).toEqual(new Map([['c', 'stored']]))
    expect(await findPastRuns(queries, [])).toEqual(new Map())
    await deletePastRunsBefore(queries, 5)
    expect((await found()).size).toBe(3)
    await deletePastRunsBefore(queries, 6)
    expect([...(await found()).keys()]).toEqual(['c'])
  })
})
