import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RawBuilder, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../control-plane/src/store/open-store.js'
import { findLock } from '../../control-plane/src/store/service/locks.js'
import { deleteUser, findUserByName, insertUser } from '../../control-plane/src/store/accounts/users.js'
import { createTestDatabase } from '../support/test-database.js'

const ACCOUNT = { type: 'local' as const, passwordHash: null, email: null, groups: [], enabled: true }
const decidedBy = (name: string, time: number) =>
  JSON.stringify({ title: null, decided_by: name, decided_by_type: 'local', decided_at: time })

test.each(['sqlite', 'postgres'] as const)(
  'what is in an older database goes to the account that was there then, and else to nobody: %s',
  async (kind) => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-migrations-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const database = await createTestDatabase(folder, kind)
    onTestFinished(() => database.remove())
    const before = await openStore(database.place)
    const [ann, bob] = await before.write('test.back', async (queries) => {
      const undo: RawBuilder<unknown>[] = []
      for (const index of ['job_owner', 'job_owner_runner', 'upload_owner_size'])
        await sql`drop index ${sql.ref(index)}`.execute(queries)
      await sql`alter table job drop column user_id`.execute(queries)
      await sql`alter table upload drop column owner_id`.execute(queries)
      await sql`alter table awaited_approval drop column user_id`.execute(queries)
      await sql`alter table ${sql.table('user')} drop column groups_left_out`.execute(queries)
      await sql`delete from kysely_migration where name = '013-account-ownership'`.execute(queries)
      const add = async (username: string, createdAt: number) =>
        (await insertUser(queries, { ...ACCOUNT, username, createdAt }))?.id
      for (const [table, column] of [
        ['user', 'name_had_by'],
        ['audit', 'user_id'],
        ['lock', 'holder_id'],
      ] as const) {
        undo.push(sql`alter table ${sql.table(table)} drop column ${sql.ref(column)}`)
      }
      undo.push(sql`drop table past_name`, sql`delete from kysely_migration where name = '020-account-names'`)
      undo.push(sql`insert into lock (name, holder, taken_at, touched_at) values ('designer', 'local/bob', 1, 1)`)
      const ids = [await add('ann', 100), await add('bob', 200)]
      // Groups of a directory whose names look like ids of today.
      const ofDirectory = { ...ACCOUNT, type: 'ldap' as const, createdAt: 100 }
      const groups = ['ops', 'id:7', 'DN:cn=x', 'name:y', 'idle']
      await insertUser(queries, { ...ofDirectory, username: 'cleo', groups })
      await insertUser(queries, { ...ofDirectory, username: 'dora', groups: ['ops'] })
      await insertUser(queries, { ...ACCOUNT, createdAt: 100, username: 'emil', groups: ['id:7'] })
      const job = (name: string, type: string, time: number, approval: string | null) => sql`insert into job
        (run_id, form, target, job_type, status, start_time, user_name, user_type, dispatch, abort_requested, extravars, credentials, playbook, approval)
        values ('r', 'f', 'f', 'ansible', 'approve', ${time}, ${name}, ${type}, 'done', 0, '{}', '{}', '{}', ${approval})`
      await job('ann', 'local', 100, null).execute(queries)
      // Of somebody who had the name before.
      await job('ann', 'local', 99, decidedBy('bob', 200)).execute(queries)
      await job('ann', 'ldap', 300, decidedBy('bob', 199)).execute(queries)
      await job('gone', 'local', 300, 'no JSON').execute(queries)
      await sql`insert into awaited_approval (role, job_id, allow_self, user_name, user_type) select 'ops', id, 0, user_name, user_type from job`.execute(
        queries,
      )
      for (const [name, time] of [
        ['a', 250],
        ['b', 150],
      ] as const) {
        await sql`insert into upload (stored_name, owner_name, owner_type, size, sha256, original_name, mime_type, encoding, created_at, used)
          values (${name}, 'bob', 'local', 1, 'x', 'x', 'x', 'x', ${time}, 0)`.execute(queries)
      }
      for (const step of undo) await step.execute(queries)
      return ids
    })
    await before.close()

    const after = await openStore(database.place)
    onTestFinished(() => after.close())
    const jobs = await after.read.selectFrom('job').select(['user_id', 'approval']).orderBy('id').execute()
    expect(jobs.map(({ user_id: id }) => id)).toEqual([ann, null, null, null])
    expect(jobs.slice(1, 3).map(({ approval }) => JSON.parse(approval ?? '') as unknown)).toEqual([
      { title: null, decided_by: 'bob', decided_by_type: 'local', decided_at: 200, decided_by_id: bob },
      { title: null, decided_by: 'bob', decided_by_type: 'local', decided_at: 199 },
    ])
    expect(jobs[3]?.approval).toBe('no JSON')
    const waiting = await after.read.selectFrom('awaited_approval').select('user_id').orderBy('job_id').execute()
    expect(waiting.map(({ user_id: id }) => id)).toEqual([ann, null, null, null])
    const uploads = await after.read.selectFrom('upload').select(['owner_id']).orderBy('stored_name').execute()
    expect(uploads.map(({ owner_id: id }) => id)).toEqual([bob, null])

    const groupsOf = async (type: 'ldap' | 'local', name: string) =>
      (await findUserByName(after.read, type, name))?.groups
    expect(await groupsOf('ldap', 'cleo')).toEqual(['ops', 'idle'])
    expect(await groupsOf('ldap', 'dora')).toEqual(['ops'])
    expect(await groupsOf('local', 'emil')).toEqual(['id:7'])

    // A name that somebody has is theirs; the others may not be taken for those who left jobs.
    const past = await after.read.selectFrom('past_name').selectAll().orderBy('type').execute()
    expect(past).toEqual([
      { type: 'ldap', username_key: 'ann', user_id: 0 },
      { type: 'local', username_key: 'gone', user_id: 0 },
    ])
    expect((await findUserByName(after.read, 'local', 'ann'))?.nameHadBy).toBeNull()
    expect((await findLock(after.read, 'designer', 0))?.holderId).toBe(bob)

    // The id of an account that is gone is never given again, also not the newest one.
    const next = await after.write('test.again', async (queries) => {
      await deleteUser(queries, bob ?? 0)
      return insertUser(queries, { ...ACCOUNT, username: 'bob', createdAt: 400 })
    })
    expect(next?.id).toBeGreaterThan(bob ?? 0)
    expect(next?.nameHadBy).toBe(bob)
  },
)
