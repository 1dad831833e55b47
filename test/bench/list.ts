import { type ApprovalGiver, listAwaitingJobs } from '../../control-plane/src/store/approvals.js'
import { type JobFilter, listJobs } from '../../control-plane/src/store/job-list.js'
import type { Queries } from '../../control-plane/src/store/store.js'
import { closeDatabase, databasePathOf, openDatabase, query } from '../support/database-file.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { plansOf } from '../support/query-plans.js'
import { signIn } from '../support/rest.js'
import { cpuSeconds } from './cpu.js'
import type { Figure } from './report.js'
import { type RawReader, openReader } from './raw-reader.js'
import { median, percentile } from './statistics.js'

type Say = (line: string) => void

const REACH_MS = 30
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: watch, groups: [local/watch], options: {showAllJobLogs: true}}
  - {name: ops, groups: [local/ops]}
  - {name: default, groups: []}
`

/** Jobs that wait for an approval, among all others. */
const WAITING = 1000
const OWNER = { name: 'user-7', type: 'local' }
const LDAP = { name: 'user-49', type: 'ldap' }
const GIVER: ApprovalGiver = { name: 'giver', type: 'local', roles: ['ops', 'default'] }

const APPROVAL = JSON.stringify({
  ...{ title: 'Deploy?', message: 'Tonight', roles: ['ops'], notifications: [], allowSelf: false },
  ...{ state: 'waiting', decided_by: null, decided_by_type: null, decided_at: null },
})

interface Question {
  readonly who: 'admin' | 'all' | 'own' | 'giver'
  readonly what: string
  readonly path: string
  /** What is read for it from the database, whose plan is shown; left out where it is that of another question. */
  readonly read?: (queries: Queries) => Promise<unknown>
  readonly reach?: null
}

const jobsBy = (filter: JobFilter) => (queries: Queries) => listJobs(queries, filter, 1000)
const waitingFor = (giver: ApprovalGiver | null) => (queries: Queries) => listAwaitingJobs(queries, giver, {}, 1000)

/**
 * What people ask of the list, and who. `all` sees every job by a role, `own` only the 20,000 of their own, `giver` has no
 * job and may approve the ones that wait.
 */
const QUESTIONS: readonly Question[] = [
  { who: 'admin', what: 'the default list', path: '/job', read: jobsBy({}) },
  { who: 'admin', what: 'records=1', path: '/job?records=1' },
  { who: 'admin', what: 'records=5000', path: '/job?records=5000', reach: null },
  { who: 'admin', what: 'user', path: '/job?user=user-7', read: jobsBy({ user: OWNER }) },
  { who: 'admin', what: 'user with user_type', path: '/job?user=user-49&user_type=ldap', read: jobsBy({ user: LDAP }) },
  { who: 'admin', what: 'user without jobs', path: '/job?user=nobody&user_type=ldap' },
  { who: 'admin', what: 'runner', path: '/job?runner=runner-3', read: jobsBy({ runner: 'runner-3' }) },
  {
    ...{ who: 'admin', what: 'user and runner', path: '/job?user=user-7&runner=runner-3' },
    read: jobsBy({ user: OWNER, runner: 'runner-3' }),
  },
  { who: 'admin', what: 'user and runner that never met', path: '/job?user=user-7&runner=runner-4' },
  { who: 'admin', what: 'user and runner, records=50', path: '/job?user=user-7&runner=runner-3&records=50' },
  { who: 'admin', what: 'waiting', path: '/job?waiting=true', read: waitingFor(null) },
  { who: 'all', what: 'showAllJobLogs, the default list', path: '/job' },
  { who: 'own', what: 'own jobs only, the default list', path: '/job', read: jobsBy({ visibleTo: OWNER }) },
  { who: 'own', what: 'own jobs only, runner', path: '/job?runner=runner-3' },
  { who: 'own', what: 'own jobs only, user of others', path: '/job?user=user-8' },
  { who: 'own', what: 'own jobs only, records=5000', path: '/job?records=5000', reach: null },
  { who: 'giver', what: 'own jobs and those to approve', path: '/job', read: waitingFor(GIVER) },
]

/**
 * How long the list of jobs takes with very many of them: from sending the request to the last byte of the answer, one
 * request after the other. The CPU time is the control plane's.
 */
export async function measureList(jobs: number, rounds: number, say: Say): Promise<Figure[]> {
  const product = await startProduct({ withAgent: false, config: CONFIG })
  try {
    await product.admin.post('/user', { username: 'user-7', password: ADMIN_PASSWORD, groups: [] })
    await product.admin.post('/user', { username: 'watcher', password: ADMIN_PASSWORD, groups: ['watch'] })
    await product.admin.post('/user', { username: 'giver', password: ADMIN_PASSWORD, groups: ['ops'] })
    await product.controlPlane.stop()
    say(
      `  making ${jobs} jobs, ${WAITING} of which wait for an approval; under some questions how SQLite finds the answer`,
    )
    await fill(product, jobs)
    await product.startControlPlane()
    const tokens = {
      admin: product.admin.token,
      all: (await signIn(product.address, 'watcher', ADMIN_PASSWORD)).token,
      own: (await signIn(product.address, 'user-7', ADMIN_PASSWORD)).token,
      giver: (await signIn(product.address, 'giver', ADMIN_PASSWORD)).token,
    }
    const reader = openReader(product.address)
    const first = performance.now()
    await reader.get('/job', tokens.admin)
    const firstMs = performance.now() - first
    const figures: Figure[] = []
    const path = databasePathOf(product)
    for (const question of QUESTIONS) {
      figures.push(await measure(product, reader, tokens[question.who], { reach: REACH_MS, ...question }, rounds, say))
      if (question.read)
        for (const plan of await plansOf(path, question.read)) say(`    ${plan.replaceAll('\n', '; ')}`)
    }
    reader.close()
    const answer = 'the default list, first request after a start'
    figures.push({ what: answer, value: firstMs, unit: 'ms', digits: 1, reach: null, note: 'one request' })
    return figures.map((figure) => ({ ...figure, what: `list of ${jobs} jobs: ${figure.what}` }))
  } finally {
    await product.close()
  }
}

async function measure(
  product: Product,
  reader: RawReader,
  token: string,
  { what, path, reach }: Omit<Question, 'reach'> & { readonly reach: number | null },
  rounds: number,
  say: Say,
): Promise<Figure> {
  const { records } = JSON.parse((await reader.get(path, token)).toString()) as { records: unknown[] }
  const { pid } = product.controlPlane
  const cpuBefore = cpuSeconds(pid)
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const begin = performance.now()
    await reader.get(path, token)
    times.push(performance.now() - begin)
  }
  const cpuMs = ((cpuSeconds(pid) - cpuBefore) / rounds) * 1000
  const p95 = percentile(times, 95)
  const note = `median ${median(times).toFixed(1)} ms, CPU ${cpuMs.toFixed(1)} ms, ${records.length} records, ${rounds} requests`
  say(`  ${what}: p95 ${p95.toFixed(1)} ms, ${note}`)
  return {
    what: `${what}, p95`,
    value: p95,
    unit: 'ms',
    digits: 1,
    reach: reach === null ? null : { value: reach, better: 'lower' },
    note,
  }
}

/**
 * Jobs as a busy year leaves them: of 50 users, a tenth of them from a directory, on 20 runners, most ended well. Each
 * row is as long as that of a job with a few extra variables.
 */
async function fill(product: Product, jobs: number): Promise<void> {
  const database = await openDatabase(databasePathOf(product), 'write')
  try {
    const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${jobs})`
    await query(
      database,
      `${numbers} insert into job (run_id, form, target, job_type, status, status_reason, start_time, end_time,
      user_name, user_type, runner_name, dispatch, abort_requested, extravars, credentials, playbook, approval)
      select printf('%032x', i), 'form ' || (i % 30), 'form ' || (i % 30), 'ansible',
        case when i % ${jobs / WAITING} = 1 then 'approve' when i % 10 = 0 then 'failed' else 'success' end,
        case when i % 10 = 0 then 'ansible-playbook ended with 2: a host failed' end,
        1700000000000 + i * 1000, 1700000000000 + i * 1000 + 60000,
        'user-' || (i * 7 % 50), case when i * 7 % 50 >= 45 then 'ldap' else 'local' end,
        'runner-' || (i * 13 % 20), 'done', 0, json_object('text', printf('%0400d', i)), '{}',
        json_object('playbook', printf('%0200d', i)),
        case when i % ${jobs / WAITING} = 1 then '${APPROVAL}' end from n`,
    )
    await query(
      database,
      `insert into awaited_approval (role, job_id, allow_self, user_name, user_type)
      select 'ops', id, 0, user_name, user_type from job where status = 'approve'`,
    )
    await query(
      database,
      `${numbers} insert into job_stream (job_id, output_length, shown_length, events_length, events_count)
      select i, 0, 0, 0, 0 from n`,
    )
  } finally {
    await closeDatabase(database)
  }
}
