import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { appendToStreams } from '../../control-plane/src/store/jobs/job-streams.js'
import { migrate } from '../../control-plane/src/store/migrations/index.js'
import { databaseIdOf } from '../../control-plane/src/store/database-id.js'
import { type DatabasePlace, openStore } from '../../control-plane/src/store/open-store.js'
import type { Database } from '../../control-plane/src/store/schema.js'
import { openHandle } from '../../control-plane/src/store/sqlite/sqlite-handle.js'
import { createSqliteDialect } from '../../control-plane/src/store/sqlite/sqlite-dialect.js'
import sqlite3 from 'sqlite3'
import { putJob } from '../api/job-rows.js'
import { type TestServer, startServer } from '../api/server.js'
import { createTestDatabase } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'
import { newQuickPerson } from './run-cli.js'
import type { Store } from '../../control-plane/src/store/store.js'

/** A copy of an installation that runs, and what is made of it on either database. */
const FORM = 'name: Hello\ntype: ansible\nplaybook: hello.yml\nroles: [default]\nfields: []\n'
const SECRETS = ['encryption-secret', 'access-token-secret', 'access-token-secret.previous']
/** Several nodes share these, so they are settings there. */
const GIVEN = `ACCESS_TOKEN_SECRET=${'a'.repeat(40)}\nENCRYPTION_SECRET=${'b'.repeat(40)}\n`
let server: TestServer
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-backup-'))
  server = await startServer({ database: 'sqlite', forms: { 'hello.yml': FORM } })
  await server.addUser('ann')
  for (let number = 0; number < 40; number += 1) {
    const id = await putJob(server)
    const output = Buffer.concat([Buffer.from(`job ${number}\n`), Buffer.from([0, 255, 254, 10])])
    await server.store.write('test.print', (queries) =>
      appendToStreams(queries, id, { output: 0, events: 0, eventsCount: 0 }, output, []),
    )
  }
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

const run = (args: readonly string[]) => newQuickPerson().run(args)
const backup = (path: string, ...more: string[]) =>
  run(['backup', join(folder, path), '--persistent-path', server.folder, ...more])

/** A new place for an installation, with the settings of its control plane in a file. */
function newInstallation(url?: string) {
  const persistent = mkdtempSync(join(folder, 'installation-'))
  const settingsFile = join(persistent, 'control-plane.env')
  writeFileSync(
    settingsFile,
    `PERSISTENT_PATH=${persistent}\n${url === undefined ? '' : `DATABASE_URL=${url}\n${GIVEN}`}`,
  )
  const restore = (path: string, ...more: string[]) =>
    run(['restore', join(folder, path), '--settings-file', settingsFile, ...more])
  return {
    persistent,
    settingsFile,
    restore,
    place: { kind: 'sqlite', path: join(persistent, 'holdfast.db') } as const,
  }
}

/** All rows of all tables, whatever their order is. */
async function rowsAt(place: DatabasePlace): Promise<Record<string, string[]>> {
  const store = await openStore(place)
  try {
    const all: Record<string, string[]> = {}
    for (const { name } of await store.read.introspection.getTables()) {
      if (name.startsWith('kysely_') || ['node', 'write_mark', 'database_id'].includes(name)) continue
      const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(store.read)
      const text = (row: Record<string, unknown>) =>
        JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      all[name] = rows.map(text).toSorted()
    }
    return all
  } finally {
    await store.close()
  }
}

const placeOf = (persistent: string): DatabasePlace => ({ kind: 'sqlite', path: join(persistent, 'holdfast.db') })

describe('backup and restore', () => {
  it('move an installation from SQLite to PostgreSQL and back, row by row', async () => {
    // The sweep of the audit trail changes rows for the last time.
    await waitFor('the audit trail to be chained', async () => {
      const { audit = [] } = await rowsAt(placeOf(server.folder))
      return audit.length > 0 && !audit.some((row) => row.includes('"hash",null'))
    })
    const made = await backup('all.backup', '--json')
    expect(made).toMatchObject({ code: 0, stderr: 'written\nverified\n' })
    expect(JSON.parse(made.stdout)).toMatchObject({ jobs: 40 })
    expect(statSync(join(folder, 'all.backup')).mode & 0o777).toBe(0o600)
    const before = await rowsAt(placeOf(server.folder))

    const database = await createTestDatabase(folder, 'postgres')
    onTestFinished(() => database.remove())
    const there = newInstallation(database.url)
    const restored = await there.restore('all.backup')
    expect(restored).toMatchObject({ code: 0, stderr: expect.stringMatching(/^verified\ncompared\n/) as string })
    expect(restored.stdout).toMatch(/^Restored 40 jobs, \d+ rows and \d+ files\. Start the control plane\.\n$/)
    expect(readFileSync(join(there.persistent, 'forms/hello.yml'), 'utf8')).toBe(FORM)
    expect(await rowsAt(database.place)).toEqual(before)

    const again = await run(['backup', join(folder, 'again.backup'), '--settings-file', there.settingsFile])
    expect(again.code).toBe(0)
    const back = newInstallation()
    expect((await back.restore('again.backup')).code).toBe(0)
    expect(await rowsAt(back.place)).toEqual(before)
    expect(statSync(back.place.path).mode & 0o777).toBe(0o600)
    // Who follows something by its numbers sees that it is another database, also after the next start.
    const ids: string[] = []
    for (const place of [placeOf(server.folder), database.place, back.place, back.place]) {
      const store = await openStore(place)
      ids.push(await databaseIdOf(store))
      await store.close()
    }
    expect(ids[2]).toBe(ids[3])
    expect(new Set(ids).size).toBe(3)
    // Numbers go on behind the highest one that was ever given.
    for (const place of [database.place, back.place]) {
      const store = await openStore(place)
      expect(await putJob({ store: store as Store })).toBe(41)
      await store.close()
    }
  })

  it('copies one state of the database while jobs come in, and leaves no partial file', async () => {
    let goesOn = true
    const writing = (async () => {
      while (goesOn) await server.addUser(`during-${Math.random()}`)
    })()
    const made = await backup('during.backup')
    goesOn = false
    await writing
    expect(made.code).toBe(0)
    expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([])
    const there = newInstallation()
    expect((await there.restore('during.backup')).code).toBe(0)
    const { user = [], session = [] } = await rowsAt(there.place)
    // Nobody's session without its account.
    expect(user.length).toBeGreaterThan(1)
    expect(session.length).toBeLessThanOrEqual(user.length + 1)
    const nowhere = await run(['backup', join(folder, 'no/such/folder'), '--persistent-path', server.folder])
    expect([nowhere.code, nowhere.stderr]).toEqual([5, expect.stringContaining('cannot be written')])
  })

  it('are encrypted with a passphrase, and say what is wrong with a file', async () => {
    for (const name of SECRETS) writeFileSync(join(server.folder, name), `of ${name}\n`)
    const passphrase = join(folder, 'passphrase')
    writeFileSync(passphrase, 'a long passphrase\n')
    const plain = await backup('secrets.backup', '--with', 'secrets')
    expect(plain.stderr).toContain('Warning: the backup holds the secrets and is not encrypted')
    expect((await backup('sealed.backup', '--with', 'secrets', '--passphrase-file', passphrase)).code).toBe(0)
    const there = newInstallation()
    const refusal = async (path: string, ...more: string[]) => {
      const { code, stderr } = await there.restore(path, ...more)
      expect(code).toBe(5)
      return stderr
    }
    expect(await refusal('sealed.backup')).toContain('is encrypted: give --passphrase-file')
    writeFileSync(join(folder, 'wrong'), 'another passphrase\n')
    expect(await refusal('sealed.backup', '--passphrase-file', join(folder, 'wrong'))).toContain('passphrase is wrong')
    for (const name of ['sealed', 'secrets']) {
      const whole = readFileSync(join(folder, `${name}.backup`))
      writeFileSync(join(folder, 'torn'), whole.subarray(0, whole.length - 20))
      expect(await refusal('torn', '--passphrase-file', passphrase)).toContain('is damaged')
      const changed = Buffer.from(whole)
      const at = Math.floor(whole.length / 2)
      changed[at] = (changed[at] ?? 0) ^ 1
      writeFileSync(join(folder, 'changed'), changed)
      expect(await refusal('changed', '--passphrase-file', passphrase)).toContain('is damaged')
    }
    writeFileSync(join(folder, 'other'), 'something else\n')
    expect(await refusal('other')).toContain('is no backup of Holdfast')
    // Nothing of all this was begun.
    expect(existsSync(there.place.path)).toBe(false)

    const { code } = await there.restore('sealed.backup', '--with', 'secrets', '--passphrase-file', passphrase)
    expect(code).toBe(0)
    for (const name of SECRETS) {
      expect(readFileSync(join(there.persistent, name))).toEqual(readFileSync(join(server.folder, name)))
    }
  })

  it('replaces nothing without --replace, and keeps the database file that it replaces', async () => {
    expect((await backup('once.backup')).code).toBe(0)
    const there = newInstallation()
    expect((await there.restore('once.backup')).code).toBe(0)
    const refused = await there.restore('once.backup', '--database-only')
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('is not empty: give --replace')])
    const files = await there.restore('once.backup')
    expect([files.code, files.stderr]).toEqual([5, expect.stringContaining('is there already: give --replace')])
    expect((await there.restore('once.backup', '--replace')).code).toBe(0)
    expect(readdirSync(there.persistent).filter((name) => name.includes('before-restore')).length).toBe(1)
    // A control plane works on this one.
    const held = await run(['restore', join(folder, 'once.backup'), '--persistent-path', server.folder, '--replace'])
    expect([held.code, held.stderr]).toEqual([6, expect.stringContaining('another')])
  })

  it('refuses tables of a newer release', async () => {
    const newer = mkdtempSync(join(folder, 'newer-'))
    const handle = await openHandle(join(newer, 'holdfast.db'), sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE)
    const database = new Kysely<Database>({ dialect: createSqliteDialect([handle]) })
    await migrate(database)
    await sql`insert into kysely_migration (name, timestamp) values ('999-newer', 'now')`.execute(database)
    await handle.close()
    expect((await run(['backup', join(folder, 'newer.backup'), '--persistent-path', newer])).code).toBe(0)
    const refused = await newInstallation().restore('newer.backup')
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('of a newer release (999-newer)')])
  })
})
