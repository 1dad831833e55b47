import { type ApprovalGiver, listAwaitingJobs } from '../../control-plane/src/store/jobs/approvals.js'
import { type JobFilter, listJobs } from '../../control-plane/src/store/jobs/job-list.js'
import type { Queries } from '../../control-plane/src/store/store.js'
import { databasePathOf } from '../support/database-file.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { plansOf } from '../support/query-plans.js'
import { signIn } from '../support/rest.js'
import { cpuSeconds } from './cpu.js'
import { WAITING, fillSqlite, fillPostgres } from './list-rows.js'
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

/** The second account, after the first admin. */
const OWNER = { id: 2, name: 'user-7', type: 'local' as const }
const LDAP = { name: 'user-49', type: 'ldap' as const }
const GIVER: ApprovalGiver = { id: 4, roles: ['ops', 'default'] }

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
    who: 'admin',
    what: 'user and runner',
    path: '/job?user=user-7&runner=runner-3',
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
export async function measureList(
  { jobs, rounds, database }: { jobs: number; rounds: number; database: 'sqlite' | 'postgres' },
  say: Say,
): Promise<Figure[]> {
  const product = await startProduct({ withAgent: false, config: CONFIG, database })
  try {
    await product.admin.post('/user', { username: 'user-7', password: ADMIN_PASSWORD, groups: [] })
    await product.admin.post('/user', { username: 'watcher', password: ADMIN_PASSWORD, groups: ['watch'] })
    await product.admin.post('/user', { username: 'giver', password: ADMIN_PASSWORD, groups: ['ops'] })
    await product.controlPlane.stop()
    say(`  making ${jobs} jobs, ${WAITING} of which wait for an approval`)
    if (product.databaseUrl === null) say('  under some questions how SQLite finds the answer')
    if (product.databaseUrl === null) await fillSqlite(databasePathOf(product), jobs)
    else await fillPostgres(product.databaseUrl, jobs)
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
      if (question.read && product.databaseUrl === null)
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
    await reader.pass(path, token)
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
