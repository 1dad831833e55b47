import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createJobVault } from '../../../control-plane/src/credentials/job/sealed-values.js'
import { createSecretBox } from '../../../control-plane/src/credentials/encryption/secret-box.js'
import { sealOpenJobs } from '../../../control-plane/src/jobs/secrets/carried-over.js'
import { findJobSecrets } from '../../../control-plane/src/store/jobs/job-secrets.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'
import { secretsIn } from '../../support/secret-search.js'
import type { Store } from '../../../control-plane/src/store/store.js'

const SECRETS = { pin: 'correct-horse-4711' }
const EXTRAVARS = {
  host: 'webserver',
  app: { pw: SECRETS.pin, note: 'no secret' },
  address: `db://u:${SECRETS.pin}@web`,
  ansibleforms_user: { username: 'ann', note: `of ${SECRETS.pin}` },
}
const APPROVAL = JSON.stringify({ title: `To db://u:${SECRETS.pin}@web` })

test('passwords of an older release are removed from the rows of its jobs: ended jobs lose them, others keep them encrypted', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-migrations-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'holdfast.db')
  const before = await openSqliteStore(path)
  await before.write('test.back', async (queries) => {
    await sql`drop table job_secret`.execute(queries)
    await sql`delete from kysely_migration where name = '012-job-secrets'`.execute(queries)
    for (const [run, status] of [
      ['ended', 'success'],
      ['open', 'running'],
    ]) {
      await sql`insert into job (run_id, form, target, job_type, status, start_time, user_name, user_type, dispatch, abort_requested,
        extravars, credentials, playbook, raw_form_data, approval, password_fields)
        values (${run}, 'f', 'f', 'ansible', ${status}, 1, 'ann', 'local', 'queued', 0, ${JSON.stringify(EXTRAVARS)}, '{}', '{}',
        ${JSON.stringify({ host: 'webserver', address: EXTRAVARS.address })}, ${APPROVAL}, '["pin","pw"]')`.execute(
        queries,
      )
    }
  })
  await before.close()

  const after = await openSqliteStore(path)
  onTestFinished(() => after.close())
  const vault = createJobVault(createSecretBox('a secret that only this test uses'))
  expect([await sealOpenJobs(after as Store, vault), await sealOpenJobs(after as Store, vault)]).toEqual([1, 0])
  const jobs = await after.read.selectFrom('job').selectAll().orderBy('id').execute()
  expect(secretsIn(JSON.stringify(jobs), SECRETS)).toEqual([])
  const shown = {
    host: 'webserver',
    app: { pw: '********', note: 'no secret' },
    address: '********',
    ansibleforms_user: { username: 'ann', note: '********' },
  }
  expect(jobs.map((job) => JSON.parse(job.extravars) as unknown)).toEqual([shown, shown])
  expect(jobs.map((job) => JSON.parse(job.approval ?? '') as unknown)).toEqual([
    { title: '********' },
    { title: '********' },
  ])
  const kept = (await findJobSecrets(after.read, [1, 2])).get(2)
  const { host: _, ...variables } = EXTRAVARS
  expect(kept && vault.open('open', kept.sealed)).toEqual({ variables, hidden: [SECRETS.pin] })
})
