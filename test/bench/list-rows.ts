import pg from 'pg'
import { closeDatabase, openDatabase, query } from '../support/database-file.js'

/** Jobs that wait for an approval, among all others. */
export const WAITING = 1000

const APPROVAL = JSON.stringify({
  title: 'Deploy?',
  message: 'Tonight',
  message_text: 'Tonight',
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
})

const AWAITED = `insert into awaited_approval (role, job_id, allow_self, user_id, user_name, user_type)
  select 'ops', id, 0, user_id, user_name, user_type from job where status = 'approve'`

/**
 * Jobs as a busy year leaves them: of 50 users, a tenth of them from a directory, on 20 runners, most ended well. Each
 * row is as long as that of a job with a few extra variables.
 */
export async function fillSqlite(path: string, jobs: number): Promise<void> {
  const database = await openDatabase(path, 'write')
  try {
    const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${jobs})`
    await query(
      database,
      `${numbers} insert into job (run_id, form, target, job_type, status, status_reason, start_time, end_time,
      user_id, user_name, user_type, runner_name, held_epoch, dispatch, abort_requested, extravars, credentials, playbook, approval)
      select printf('%032x', i), 'form ' || (i % 30), 'form ' || (i % 30), 'ansible',
        case when i % ${jobs / WAITING} = 1 then 'approve' when i % 10 = 0 then 'failed' else 'success' end,
        case when i % 10 = 0 then 'ansible-playbook ended with 2: a host failed' end,
        1700000000000 + i * 1000, 1700000000000 + i * 1000 + 60000,
        case when i * 7 % 50 = 7 then 2 end, 'user-' || (i * 7 % 50), case when i * 7 % 50 >= 45 then 'ldap' else 'local' end,
        'runner-' || (i * 13 % 20), 1, 'done', 0, json_object('text', printf('%0400d', i)), '{}',
        json_object('playbook', printf('%0200d', i)),
        case when i % ${jobs / WAITING} = 1 then '${APPROVAL}' end from n`,
    )
    await query(database, AWAITED)
    await query(
      database,
      `${numbers} insert into job_stream (job_id, output_length, shown_length, events_length, events_count)
      select i, 0, 0, 0, 0 from n`,
    )
  } finally {
    await closeDatabase(database)
  }
}

/** The same in a PostgreSQL database. */
export async function fillPostgres(url: string, jobs: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(
      `insert into job (run_id, form, target, job_type, status, status_reason, start_time, end_time,
      user_id, user_name, user_type, runner_name, held_epoch, dispatch, abort_requested, extravars, credentials, playbook, approval)
      select lpad(to_hex(i), 32, '0'), 'form ' || (i % 30), 'form ' || (i % 30), 'ansible',
        case when i % ${jobs / WAITING} = 1 then 'approve' when i % 10 = 0 then 'failed' else 'success' end,
        case when i % 10 = 0 then 'ansible-playbook ended with 2: a host failed' end,
        1700000000000 + i * 1000, 1700000000000 + i * 1000 + 60000,
        case when i * 7 % 50 = 7 then 2 end, 'user-' || (i * 7 % 50), case when i * 7 % 50 >= 45 then 'ldap' else 'local' end,
        'runner-' || (i * 13 % 20), 1, 'done', 0, json_build_object('text', lpad(i::text, 400, '0'))::text, '{}',
        json_build_object('playbook', lpad(i::text, 200, '0'))::text,
        case when i % ${jobs / WAITING} = 1 then '${APPROVAL}' end from generate_series(1::bigint, ${jobs}) as n(i)`,
    )
    await client.query(AWAITED)
    await client.query(
      `insert into job_stream (job_id, output_length, shown_length, events_length, events_count)
      select id, 0, 0, 0, 0 from job`,
    )
  } finally {
    await client.end()
  }
}
