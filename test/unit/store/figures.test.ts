import { expect, test } from 'vitest'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { insertRunner } from '../../../control-plane/src/store/runners/runners.js'
import { storeRunnerStatus } from '../../../control-plane/src/store/runners/runner-status.js'
import { readFigures } from '../../../control-plane/src/store/service/figures.js'
import { JOB_STATUSES } from '../../../control-plane/src/words/job-status.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { RUNNER_ROW } from '../../support/runner-row.js'

const RUNNER = { ...RUNNER_ROW, epoch: 3, running_jobs: 2, spool_bytes: 9, connected_node: 'a' }
const STATUS = {
  runningJobs: 1,
  agentMaxJobs: 5,
  draining: true,
  spoolBytes: 70,
  clockSkewMs: 8,
  lastSeen: 20,
}

test('jobs are counted while they are open, and from a time on when they have ended', async () => {
  const queries = await memoryDatabase()
  for (const status of JOB_STATUSES) {
    for (const end of [49, 50, 51]) {
      await insertJob(queries, { ...queuedJob(1, `${status} ${end}`), status, end_time: end })
    }
  }
  const { jobsByStatus, endedByStatus } = await readFigures(queries, 50)
  expect(jobsByStatus).toEqual(
    new Map([
      ['approve', 3],
      ['running', 3],
    ]),
  )
  const ended = ['abandoned', 'aborted', 'failed', 'rejected', 'success', 'warning']
  expect(endedByStatus).toEqual(new Map(ended.map((status) => [status, 2])))
})

test('runners are counted by their states, and the approved ones tell of themselves', async () => {
  const queries = await memoryDatabase()
  for (const [name, state] of [
    ['one', 'approved'],
    ['two', 'approved'],
    ['three', 'waiting'],
  ] as const) {
    await insertRunner(queries, { ...RUNNER, name, state, fingerprint: name })
  }
  const { runnersByState, runners } = await readFigures(queries, 50)
  expect(runnersByState).toEqual(
    new Map([
      ['approved', 2],
      ['waiting', 1],
    ]),
  )
  expect(runners).toEqual([
    { name: 'one', spoolBytes: 9, runningJobs: 2 },
    { name: 'two', spoolBytes: 9, runningJobs: 2 },
  ])
})

test.each([
  ['goes on', false, 'a'],
  ['is over', true, null],
])('a runner tells its status on its newest connection only, which %s', async (_what, isOver, node) => {
  const queries = await memoryDatabase()
  const { id } = await insertRunner(queries, { ...RUNNER, name: 'one', state: 'approved', fingerprint: 'f' })
  const stored = () => queries.selectFrom('runner').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  await storeRunnerStatus(queries, id, 2, STATUS, isOver)
  expect(await stored()).toMatchObject({ running_jobs: 2, connected_node: 'a', last_seen: 10 })
  await storeRunnerStatus(queries, id, 3, STATUS, isOver)
  expect(await stored()).toMatchObject({
    running_jobs: 1,
    agent_max_jobs: 5,
    draining: 1,
    spool_bytes: 70,
    clock_skew_ms: 8,
    last_seen: 20,
    connected_node: node,
  })
  await storeRunnerStatus(queries, id, 3, { ...STATUS, draining: false }, false)
  expect((await stored()).draining).toBe(0)
})
