import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UnavailableError } from '../../control-plane/src/errors.js'
import { openStore } from '../../control-plane/src/store/open-store.js'
import { findLock } from '../../control-plane/src/store/service/locks.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { type FaultyProxy, startFaultyProxy } from '../chaos/kit/faulty-proxy.js'
import { POSTGRES_PASSWORD, type PostgresServer, startPostgres } from '../support/postgres.js'
import { waitFor } from '../support/wait.js'

/** A store whose connections go through a proxy, on a server of its own. */
let server: PostgresServer
let proxy: FaultyProxy
let store: Store
beforeAll(async () => {
  server = await startPostgres()
  proxy = await startFaultyProxy(`http://127.0.0.1:${server.port}`)
  store = (await openStore({ kind: 'postgres', url: proxied('postgres') })) as Store
})
afterAll(async () => {
  await store.close()
  await proxy.close()
  await server.close()
})

function proxied(database: string): string {
  return server.urlOf(database).replace(`:${server.port}/`, `:${new URL(proxy.address).port}/`)
}

/** A statement beside the store, not through the proxy. */
async function run(statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.urlOf('postgres') })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows
  } finally {
    await client.end()
  }
}

/** Leaves one more row each time that it is committed; `before` comes right before the commit. */
function note(number: number, before: () => unknown = () => undefined): Promise<number> {
  let runs = 0
  return store.write('test.note', async (queries) => {
    const row = { time: number, address: 'x', action: 'noted', object_kind: 'x', request_id: 'x' }
    await queries.insertInto('audit').values(row).execute()
    if (runs === 0) before()
    runs += 1
    return runs
  })
}

async function notes(): Promise<number[]> {
  const rows = await store.read.selectFrom('audit').select('time').orderBy('id').execute()
  return rows.map(({ time }) => time)
}

describe('a connection that is cut at the commit', () => {
  test('after it was committed: the write is done, and not once more', async () => {
    const cuts: Promise<void>[] = []
    expect(await note(1, () => cuts.push(proxy.cutAfter('down', 1)))).toBe(1)
    await Promise.all(cuts)
    expect(await notes()).toEqual([1])
  })

  test('before it was asked for: the write is run again', async () => {
    const cuts: Promise<void>[] = []
    expect(await note(2, () => cuts.push(proxy.cutAfter('up', 5)))).toBe(2)
    await Promise.all(cuts)
    expect(await notes()).toEqual([1, 2])
  })

  test('wherever it is cut, what was settled too: each write is there once', async () => {
    const written = [1, 2]
    for (let bytes = 1; bytes < 260; bytes += 36) {
      for (const direction of ['up', 'down'] as const) {
        const number = written.length + 1
        // The second one may meet what finds out what became of the first.
        await note(number, () => {
          void proxy.cutAfter(direction, bytes)
          void proxy.cutAfter(direction, bytes)
        })
        written.push(number)
      }
    }
    proxy.forgetCuts()
    expect(await notes()).toEqual(written)
  })
})

describe('a server that cannot be had', () => {
  test('is waited for by writes, refused to readers in our words, and seen by the check', async () => {
    await store.check()
    await server.kill()
    const writing = note(1000)
    const reading = findLock(store.read, 'x', 0)
    await expect(reading).rejects.toThrow(UnavailableError)
    await expect(reading).rejects.not.toThrow(POSTGRES_PASSWORD)
    await expect(store.check()).rejects.toMatchObject({ code: 'database_unreachable' })
    await server.start()
    await writing
    await store.check()
    expect((await notes()).filter((one) => one === 1000)).toEqual([1000])
  })

  test('throws out its connections, is read-only for a while or full: writes go on when that is over', async () => {
    await run(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'holdfast'`)
    await note(1001)
    await run(`alter system set default_transaction_read_only = on`)
    await run('select pg_reload_conf()')
    await waitFor('the store to see it', async () => {
      const [row] = await run('show default_transaction_read_only')
      return row?.default_transaction_read_only === 'on'
    })
    const writing = note(1002)
    await waitFor('the check to say so', () =>
      store.check().then(
        () => false,
        (error: { code?: string }) => error.code === 'database_not_writable',
      ),
    )
    await run('alter system reset default_transaction_read_only')
    await run('select pg_reload_conf()')
    await writing
    expect((await notes()).slice(-2)).toEqual([1001, 1002])
    await waitFor('the check to be content', () =>
      store.check().then(
        () => true,
        () => false,
      ),
    )
  })
})

describe('the address of the database', () => {
  const open = (url: string) => openStore({ kind: 'postgres', url })

  test('says whether TLS is used, and whether the server has to prove itself', async () => {
    const url = server.urlOf('postgres')
    for (const mode of ['require', 'verify-ca', 'verify-full']) {
      await expect(open(`${url}?sslmode=${mode}`)).rejects.toThrow('cannot be had: self-signed certificate')
    }
    const sure = await open(`${url}?sslmode=no-verify`)
    await findLock(sure.read, 'x', 0)
    const rows = await run(
      `select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'holdfast'`,
    )
    // The other store of this file is without.
    expect(rows.map(({ ssl }) => ssl)).toContain(true)
    await sure.close()
  })

  test('with a wrong password or of no database stops the start, and shows no password', async () => {
    const url = server.urlOf('postgres')
    for (const wrong of [url.replace(POSTGRES_PASSWORD, 'hunter2'), server.urlOf('elsewhere')]) {
      const start = open(wrong)
      await expect(start).rejects.toThrow(/^the database \w+ at 127.0.0.1:\d+ cannot be had: /)
      await expect(start).rejects.not.toThrow(new RegExp(`hunter2|${POSTGRES_PASSWORD}`))
    }
  })
})
