import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KyselyPlugin } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type DatabasePlace, noticeOtherState, openStore } from '../../control-plane/src/store/open-store.js'
import { UnavailableError } from '../../control-plane/src/errors.js'
import { settlePlace } from '../../control-plane/src/store/postgres/postgres-place.js'
import { databaseIdOf, knownDatabaseId } from '../../control-plane/src/store/database-id.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { systemTimers } from '../../control-plane/src/time/timers.js'
import { putJob } from '../api/job-rows.js'
import { createTestDatabase } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-put-back-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** What a start of the control plane does with the database, some work on it, and a stop. */
async function runOn(
  place: DatabasePlace,
  work: (store: Store) => Promise<unknown> = () => Promise.resolve(),
  end: 'stopped' | 'killed' = 'stopped',
): Promise<{ id: string; warnings: string[] }> {
  const warnings: string[] = []
  const store = await openStore(place)
  const close = await noticeOtherState(place, store, {
    timers: systemTimers,
    warn: (text) => warnings.push(text),
    now: () => Date.now(),
  })
  const id = await databaseIdOf(store)
  await work(store as Store)
  if (end === 'stopped') await close()
  await store.close()
  return { id, warnings }
}

describe('a database file', () => {
  const path = () => join(folder, 'holdfast.db')
  const place = (): DatabasePlace => ({ kind: 'sqlite', path: path() })
  const mark = () => `${path()}-mark`
  const job = (store: Store) => putJob({ store })

  test('keeps its id while nobody puts it back, also when the control plane is killed', async () => {
    const first = await runOn(place(), job)
    expect(await runOn(place(), job)).toEqual(first)
    const known = async (store: Store) => {
      const id = await job(store)
      await waitFor('the number in the mark', () => readFileSync(mark(), 'utf8').includes(`"job":${id}`))
    }
    expect(await runOn(place(), known, 'killed')).toEqual(first)
    expect(await runOn(place(), job, 'killed')).toEqual(first)
    expect(await runOn(place())).toEqual(first)
  })

  test.each(['stopped', 'killed'] as const)(
    'gets a new id when an earlier copy was put back, after the control plane was %s',
    async (end) => {
      const { id } = await runOn(place(), job)
      copyFileSync(path(), join(folder, 'copy.db'))
      const more = async (store: Store) => {
        const number = await job(store)
        if (end === 'stopped') return
        await waitFor('the number in the mark', () => readFileSync(mark(), 'utf8').includes(`"job":${number}`))
      }
      await runOn(place(), more, end)
      for (const suffix of ['-wal', '-shm']) rmSync(path() + suffix, { force: true })
      copyFileSync(join(folder, 'copy.db'), path())
      const again = await runOn(place(), job)
      expect(again.id).not.toBe(id)
      expect(again.warnings).toEqual([
        'The database was put back to an earlier state: job 2 is not in it, so the database gets a new id: whoever follows jobs or the audit trail begins again',
      ])
      expect(await runOn(place())).toEqual({ id: again.id, warnings: [] })
    },
  )

  test('gets a new id when its mark is missing, or was put back with it', async () => {
    const first = await runOn(place(), job)
    rmSync(mark())
    const second = await runOn(place())
    expect(second).toEqual({
      id: expect.any(String),
      warnings: [expect.stringContaining('holdfast.db-mark is not there')],
    })
    expect(second.id).not.toBe(first.id)
    // As a copy that keeps the times of files does.
    utimesSync(mark(), new Date(), new Date(Date.now() - 60_000))
    const third = await runOn(place())
    expect(third.warnings).toEqual([expect.stringContaining('was put there or changed by somebody else')])
    expect(third.id).not.toBe(second.id)
  })
})

describe('a mark of a database file that cannot be used', () => {
  const place = (): DatabasePlace => ({ kind: 'sqlite', path: join(folder, 'holdfast.db') })
  const mark = () => join(folder, 'holdfast.db-mark')

  test('is said with its reason, and gives a new id, and the control plane starts', async () => {
    const first = await runOn(place())
    rmSync(mark())
    mkdirSync(mark())
    const second = await runOn(place())
    expect(second.warnings).toEqual([
      expect.stringMatching(/holdfast\.db-mark cannot be read: EISDIR.*, so the database gets a new id/),
      expect.stringMatching(/holdfast\.db-mark cannot be written: EISDIR/),
    ])
    expect(second.id).not.toBe(first.id)
    rmSync(mark(), { recursive: true })
    writeFileSync(mark(), 'half of a mark')
    const third = await runOn(place())
    expect(third.warnings).toEqual([expect.stringContaining('holdfast.db-mark is damaged')])
    expect(await runOn(place())).toEqual({ id: third.id, warnings: [] })
    writeFileSync(mark(), JSON.stringify({ database: first.id, numbers: {} }))
    const fourth = await runOn(place())
    expect(fourth.warnings).toEqual([expect.stringContaining('holdfast.db-mark belongs to another database')])
  })
})

describe('a database of PostgreSQL', () => {
  test('keeps its id, and a copy of it gets another one, the same for every node', async () => {
    const original = await createTestDatabase(folder, 'postgres')
    const first = await runOn(original.place)
    expect(await runOn(original.place)).toEqual(first)
    expect(first.warnings).toEqual([])

    const name = new URL(original.url).pathname.slice(1)
    const server = new URL(original.url)
    server.pathname = '/postgres'
    const admin = new pg.Client({ connectionString: server.href })
    await admin.connect()
    try {
      await admin.query(`create database ${name}_copy template ${name}`)
      const url = new URL(original.url)
      url.pathname = `/${name}_copy`
      const copy: DatabasePlace = { kind: 'postgres', url: url.href }
      const nodes = await Promise.all([runOn(copy), runOn(copy), runOn(copy)])
      expect(new Set(nodes.map(({ id }) => id)).size).toBe(1)
      expect(nodes[0]?.id).not.toBe(first.id)
      expect(await runOn(original.place)).toEqual(first)
    } finally {
      await admin.query(`drop database if exists ${name}_copy with (force)`)
      await admin.end()
      await original.remove()
    }
  })

  test('gets no id while the server does not answer, which does not mean that it says nothing of its place', async () => {
    const database = await createTestDatabase(folder, 'postgres')
    const store = await openStore(database.place)
    try {
      const lost: KyselyPlugin = {
        transformQuery({ node }) {
          if (node.kind === 'RawNode') throw new UnavailableError('database_unavailable', 'connection terminated')
          return node
        },
        transformResult: ({ result }) => Promise.resolve(result),
      }
      const cut = { ...store, read: store.read.withPlugin(lost) } as Store
      const warnings: string[] = []
      await expect(
        settlePlace(cut, { warn: (text) => void warnings.push(text), now: () => Date.now() }),
      ).rejects.toThrow('connection terminated')
      expect([await knownDatabaseId(store.read), warnings]).toEqual([null, []])
    } finally {
      await store.close()
      await database.remove()
    }
  })

  test('with an id without a place gets one with its place, and says why', async () => {
    const database = await createTestDatabase(folder, 'postgres')
    try {
      const store = await openStore(database.place)
      const old = await databaseIdOf(store)
      await store.close()
      const first = await runOn(database.place)
      expect(first.id).not.toBe(old)
      expect(first.warnings).toEqual([
        expect.stringMatching(/^The id of the database does not say where it was given, so the database gets a new id/),
      ])
      expect(await runOn(database.place)).toEqual({ id: first.id, warnings: [] })
    } finally {
      await database.remove()
    }
  })

  test('is known by its place to an ordinary user of the server, too', async () => {
    const database = await createTestDatabase(folder, 'postgres')
    const admin = new pg.Client({ connectionString: database.url })
    await admin.connect()
    const role = `ordinary_${process.pid}`
    try {
      await admin.query(
        `create role ${role} login password 'ordinary'; grant create, usage on schema public to ${role}`,
      )
      const url = new URL(database.url)
      url.username = role
      url.password = 'ordinary'
      const place: DatabasePlace = { kind: 'postgres', url: url.href }
      const { id } = await runOn(place)
      expect(id).toMatch(/^[0-9a-f-]{36}\.[0-9a-f]{16}$/)
    } finally {
      await admin.query(`drop owned by ${role}; drop role ${role}`).catch(() => undefined)
      await admin.end()
      await database.remove()
    }
  })
})
