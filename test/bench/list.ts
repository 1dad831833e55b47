import { closeDatabase, databasePathOf, openDatabase, query } from '../support/database-file.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { type RestClient, signIn } from '../support/rest.js'
import type { Figure } from './report.js'
import { median } from './statistics.js'

type Say = (line: string) => void

const USERS = 50
const RUNNERS = 20
const REACH_MS = 30

/** What people ask of the list, and what the database is asked then. */
const QUESTIONS = [
  { what: 'the default list', path: '/job', where: '' },
  { what: 'records=50', path: '/job?records=50', where: '' },
  { what: 'user', path: '/job?user=user-7', where: `where user_type = 'local' and user_name = 'user-7'` },
  { what: 'user_type of nobody', path: '/job?user=nobody&user_type=ldap', where: '' },
  { what: 'runner', path: '/job?runner=runner-3', where: `where runner_name = 'runner-3'` },
  {
    what: 'user and runner',
    path: '/job?user=user-7&runner=runner-3',
    where: `where user_type = 'local' and user_name = 'user-7' and runner_name = 'runner-3'`,
  },
] as const

/** How long the list of jobs takes with very many of them, seen by an admin and by somebody who sees only their own. */
export async function measureList(jobs: number, rounds: number, say: Say): Promise<Figure[]> {
  const product = await startProduct({ withAgent: false })
  try {
    await product.admin.post('/user', { username: 'user-7', password: ADMIN_PASSWORD, groups: [] })
    await product.controlPlane.stop()
    say(`  making ${jobs} jobs`)
    await fill(product, jobs, say)
    await product.startControlPlane()
    const own = await signIn(product.address, 'user-7', ADMIN_PASSWORD)
    const figures: Figure[] = []
    for (const question of QUESTIONS) figures.push(await measure(product.admin, question, rounds, say))
    figures.push(await measure(own, { what: 'own jobs only, the default list', path: '/job' }, rounds, say))
    figures.push(await measure(own, { what: 'own jobs only, runner', path: '/job?runner=runner-3' }, rounds, say))
    return figures.map((figure) => ({ ...figure, what: `list of ${jobs} jobs: ${figure.what}` }))
  } finally {
    await product.close()
  }
}

async function measure(
  client: RestClient,
  { what, path }: { readonly what: string; readonly path: string },
  rounds: number,
  say: Say,
): Promise<Figure> {
  const times: number[] = []
  let records = 0
  for (let round = 0; round < rounds; round += 1) {
    const begin = performance.now()
    records = (await client.get<{ count: number }>(path)).count
    times.push(performance.now() - begin)
  }
  const sorted = times.sort((one, other) => one - other)
  const p95 = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0
  say(`  ${what}: p95 ${p95.toFixed(1)} ms`)
  return {
    what: `${what}, p95`,
    value: p95,
    unit: 'ms',
    digits: 1,
    reach: { value: REACH_MS, better: 'lower' },
    note: `median ${median(sorted).toFixed(1)} ms, ${records} records, ${rounds} requests`,
  }
}

/** Jobs as a busy year leaves them: most by few people, on few runners, most ended well. */
async function fill(product: Product, jobs: number, say: Say): Promise<void> {
  const database = await openDatabase(databasePathOf(product), 'write')
  try {
    const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${jobs})`
    await query(
      database,
      `${numbers} insert into job (run_id, form, target, job_type, status, status_reason, start_time, end_time,
      user_name, user_type, runner_name, dispatch, abort_requested, extravars, credentials, playbook)
      select printf('%032x', i), 'form ' || (i % 30), 'form ' || (i % 30), 'ansible',
        case when i % 10 = 0 then 'failed' else 'success' end,
        case when i % 10 = 0 then 'ansible-playbook ended with 2: a host failed' end,
        1700000000000 + i * 1000, 1700000000000 + i * 1000 + 60000,
        'user-' || (i * 7 % ${USERS}), 'local', 'runner-' || (i * 13 % ${RUNNERS}), 'done', 0, '{}', '{}', '{}' from n`,
    )
    await query(
      database,
      `${numbers} insert into job_stream (job_id, output_length, shown_length, events_length, events_count)
      select i, 0, 0, 0, 0 from n`,
    )
    for (const { what, where } of QUESTIONS) {
      const plan = await query<{ detail: string }>(
        database,
        `explain query plan select id, form from job ${where} order by id desc limit 1000`,
      )
      say(`  plan, ${what}: ${plan.map(({ detail }) => detail).join('; ')}`)
    }
  } finally {
    await closeDatabase(database)
  }
}
