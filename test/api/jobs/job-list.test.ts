import type { Insertable } from 'kysely'
import type { JobTable } from '../../../control-plane/src/store/schema/jobs.js'
import { join } from 'node:path'
import type { UserType } from '../../../control-plane/src/words/user-type.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listAwaitingJobs } from '../../../control-plane/src/store/jobs/approvals.js'
import { type JobFilter, listJobs } from '../../../control-plane/src/store/jobs/job-list.js'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { covers } from '../../interface/covers.js'
import { plansOf } from '../../support/query-plans.js'
import { IS_ON_POSTGRES } from '../../support/test-database.js'
import { ownedJob } from '../job-rows.js'
import { type TestServer, startServer } from '../server.js'

const CONFIG = `
roles:
  - name: admin
    groups: [local/admins]
  - name: readers
    groups: [local/readers]
    options: {showAllJobLogs: true}
  - name: keepers
    groups: [local/keepers]
    options: {manageAllJobs: true}
  - name: default
    options: {}
`

/** Who launched the jobs 1, 2, 3 …, and where they ran. */
const JOBS = [
  ['ann', 'local', 'red'],
  ['ann', 'ldap', 'red'],
  ['bob', 'local', 'blue'],
  ['ann', 'local', null],
  ['ann', 'local', 'blue'],
  ['bob', 'local', 'red'],
] as const

const APPROVAL = {
  title: 'Sure?',
  message: null,
  message_text: null,
  roles: ['ops'],
  notifications: [],
  allowSelf: false,
  state: 'waiting',
  decided_by: null,
  decided_by_type: null,
  decided_by_id: null,
  decided_at: null,
  subject: { manifest_sha256: null, form_sha256: null },
  forced: false,
}

const { message_text: _text, decided_by_id: _account, ...SHOWN_APPROVAL } = APPROVAL

let server: TestServer
let tokens: Record<'ann' | 'reader' | 'keeper', string>
beforeAll(async () => {
  server = await startServer({ config: CONFIG })
  const token = async (name: string, ...groups: string[]) => (await server.addUser(name, groups)).token
  tokens = {
    ann: await token('ann'),
    reader: await token('reader', 'readers'),
    keeper: await token('keeper', 'keepers'),
  }
  await server.store.write('test.jobs', async (queries) => {
    for (const [user, type, runner] of JOBS) await addJob(queries, user, type, runner)
  })
})
afterAll(() => server.close())

async function addJob(queries: TestServer['store']['read'], user: string, type: UserType, runner: string | null) {
  const job: Insertable<JobTable> = {
    run_id: 'r',
    form: 'Deploy “ü”\n',
    target: 'Deploy',
    job_type: 'ansible',
    status: 'failed' as const,
    status_reason: 'a host\tfailed',
    detail: null,
    start_time: 1_700_000_000_000,
    end_time: null,
    user_name: user,
    user_type: type,
    runner_id: null,
    runner_name: runner,
    dispatch: 'done' as const,
    held_epoch: 1,
    wait_until: null,
    parent_id: null,
    step: null,
    approval: JSON.stringify(APPROVAL),
    abort_requested: 1,
    abort_requested_by: null,
    abandoned_at: 1_700_000_001_000,
    extravars: '{}',
    credentials: '{}',
    raw_form_data: null,
    password_fields: '[]',
    playbook: '{}',
  }
  return insertJob(queries, await ownedJob(queries, job))
}

async function ids(query: string, token = server.admin): Promise<number[]> {
  const { status, body } = await server.call('GET', `/job${query}`, { token })
  expect(status).toBe(200)
  const records = body.records as { id: number }[]
  expect(body.count).toBe(records.length)
  return records.map(({ id }) => id)
}

test('a record is the job without its extra variables and output', async () => {
  covers(
    'record.id',
    'record.form',
    'record.status',
    'record.start',
    'record.end',
    'record.user',
    'record.runner',
    'record.summary-only',
    'answer.times',
  )
  const { body } = await server.call('GET', '/job?records=1', { token: server.admin })
  expect(body).toMatchObject({
    count: 1,
    next: expect.any(Number) as number,
    records: [
      {
        id: 6,
        form: 'Deploy “ü”\n',
        target: 'Deploy',
        job_type: 'ansible',
        status: 'failed',
        status_reason: 'a host\tfailed',
        detail: null,
        start: '2023-11-14T22:13:20.000Z',
        end: null,
        user: 'bob',
        user_type: 'local',
        runner: 'red',
        parent_id: null,
        step: null,
        approval: SHOWN_APPROVAL,
        abort_requested: true,
        schedule: null,
        abandoned_at: '2023-11-14T22:13:21.000Z',
        adopted_at: null,
        run_id: 'r',
        connected: false,
      },
    ],
  })
  for (const long of ['extravars', 'payload', 'output', 'raw_form_data', 'playbook', 'notifications']) {
    expect(body).not.toHaveProperty(['records', 0, long])
  }
})

test('the newest come first, at most as many as asked for', async () => {
  covers('endpoint.list', 'list.count', 'list.records', 'rule-5.newest-first', 'rule-5.records', 'detail.records')
  expect(await ids('')).toEqual([6, 5, 4, 3, 2, 1])
  expect(await ids('?records=2')).toEqual([6, 5])
  expect(await ids('?records=0')).toHaveLength(6)
  expect(await ids('?records=-1')).toEqual([6])
  expect(await ids('?records=many')).toHaveLength(6)
  expect(await ids('?records=999999')).toHaveLength(6)
})

test('user means a local user unless user_type says otherwise', async () => {
  covers('rule-5.user', 'rule-5.user-type')
  expect(await ids('?user=ann')).toEqual([5, 4, 1])
  expect(await ids('?user=ann&user_type=local')).toEqual([5, 4, 1])
  expect(await ids('?user=ann&user_type=ldap')).toEqual([2])
  expect(await ids('?user=ann&user_type=oidc')).toEqual([])
})

test('runner gives only the jobs that ran on it, with user those of both', async () => {
  covers('rule-5.runner')
  expect(await ids('?runner=red')).toEqual([6, 2, 1])
  expect(await ids('?runner=red&user=ann')).toEqual([1])
  expect(await ids('?runner=red&user=bob&records=1')).toEqual([6])
  expect(await ids('?runner=green')).toEqual([])
})

describe('visibility', () => {
  test('a user sees their own jobs, of their own kind', async () => {
    covers('rule-6.own')
    expect(await ids('', tokens.ann)).toEqual([5, 4, 1])
    expect(await ids('?records=2', tokens.ann)).toEqual([5, 4])
    expect(await ids('?runner=red', tokens.ann)).toEqual([1])
  })

  test('a filter never widens what a user sees', async () => {
    covers('detail.filters')
    expect(await ids('?user=bob', tokens.ann)).toEqual([])
    expect(await ids('?user=ann&user_type=ldap', tokens.ann)).toEqual([])
    expect(await ids('?user=bob&runner=red', tokens.ann)).toEqual([])
  })

  test.each(['reader', 'keeper'] as const)('a role with the option sees every job: %s', async (who) => {
    covers('rule-6.all', 'auth.show-all-job-logs', 'auth.manage-all-jobs')
    expect(await ids('', tokens[who])).toEqual([6, 5, 4, 3, 2, 1])
    expect(await ids('?user=bob', tokens[who])).toEqual([6, 3])
  })
})

const ann = { id: 2, name: 'ann', type: 'local' as const }
test.skipIf(IS_ON_POSTGRES).each<[string, JobFilter]>([
  ['nothing', {}],
  ['user', { user: ann }],
  ['runner', { runner: 'red' }],
  ['user and runner', { user: ann, runner: 'red' }],
  ['visibility', { visibleTo: ann }],
  ['visibility and user', { visibleTo: ann, user: ann }],
  ['visibility and runner', { visibleTo: ann, runner: 'red' }],
  ['all of them', { visibleTo: ann, user: ann, runner: 'red' }],
])('with any filter, the list is read from an index in its order: %s', async (_what, filter) => {
  const plans = await plansOf(join(server.folder, 'holdfast.db'), (queries) => listJobs(queries, filter, 1000))
  expect(plans).not.toEqual([])
  for (const plan of plans) {
    expect(plan).not.toMatch(/TEMP B-TREE/)
    const equal = Object.keys(filter).length > 0
    // The whole table is read only where every job is listed, and then from its newest end.
    expect(plan).toMatch(equal ? /SEARCH job USING INDEX/ : /SCAN job$/m)
    const { runner, ...users } = filter
    if (runner !== undefined) expect(plan).toMatch(/runner_name=\?/)
    if (users.visibleTo) expect(plan).toMatch(/user_id=\?/)
    else if (users.user) expect(plan).toMatch(/user_type=\? AND user_name=\?/)
  }
})

const giver = { id: 2, roles: ['ops', 'dba'] }
test
  .skipIf(IS_ON_POSTGRES)
  .each<[string, typeof giver | null, Omit<JobFilter, 'visibleTo'>]>(
    [null, giver].flatMap((who) =>
      [{}, { user: ann }, { runner: 'red' }, { user: ann, runner: 'red' }].map(
        (filter): [string, typeof giver | null, Omit<JobFilter, 'visibleTo'>] => [
          `${who ? 'a giver' : 'an admin'} by ${Object.keys(filter).join(' and ') || 'nothing'}`,
          who,
          filter,
        ],
      ),
    ),
  )('what waits is read from the few jobs that wait, however many others there are: %s', async (_what, who, filter) => {
  const plans = await plansOf(join(server.folder, 'holdfast.db'), (queries) =>
    listAwaitingJobs(queries, who, filter, 1000),
  )
  expect(plans).not.toEqual([])
  for (const plan of plans) {
    expect(plan).not.toMatch(/TEMP B-TREE|SCAN (job|awaited_approval)/)
    // Job by job, by its id, whichever index that takes.
    expect(plan).toMatch(/^SEARCH job USING .*\b(id|rowid)=\?/m)
    expect(plan).toMatch(
      who ? /^SEARCH awaited_approval .*\(role=\?/m : /^SEARCH job USING COVERING INDEX job_status \(status=\?\)/m,
    )
  }
})

// PostgreSQL keeps the types of columns.
test.skipIf(IS_ON_POSTGRES)(
  'a row that this release would not write makes the list fail and is not shown',
  async () => {
    const id = await server.store.write('test.broken', async (queries) => {
      const job = await addJob(queries, 'eve', 'local', null)
      await queries
        .updateTable('job')
        .set({ abandoned_at: 'soon' as unknown as number })
        .where('id', '=', job)
        .execute()
      return job
    })
    expect((await server.call('GET', '/job?user=eve', { token: server.admin })).status).toBe(500)
    expect(await ids('?user=bob')).toEqual([6, 3])
    await server.store.write('test.mended', (queries) => queries.deleteFrom('job').where('id', '=', id).execute())
  },
)
