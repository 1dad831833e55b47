import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'

test('a database of a release without stored password fields is brought up to date, and keeps its jobs', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-migrations-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'holdfast.db')
  const before = await openSqliteStore(path)
  await before.write('test.back', async (queries) => {
    await sql`alter table job drop column password_fields`.execute(queries)
    await sql`delete from kysely_migration where name = '002-password-fields'`.execute(queries)
    await sql`insert into job (run_id, form, target, job_type, status, start_time, user_name, user_type, dispatch, abort_requested, extravars, credentials, playbook)
      values ('r', 'f', 'f', 'ansible', 'success', 1, 'ann', 'local', 'done', 0, '{}', '{}', '{}')`.execute(queries)
  })
  await before.close()

  const after = await openSqliteStore(path)
  const jobs = await after.read.selectFrom('job').select(['form', 'password_fields']).execute()
  await after.close()
  expect(jobs).toEqual([{ form: 'f', password_fields: null }])
})
