import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Notifications, openNotifications } from '../../control-plane/src/store/postgres/postgres-notifications.js'
import { openStore } from '../../control-plane/src/store/open-store.js'
import type { RawStore } from '../../control-plane/src/store/store.js'
import { systemTimers } from '../../control-plane/src/time/timers.js'
import { type TestDatabase, createTestDatabase } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'

let database: TestDatabase
let store: RawStore
const open: Notifications[] = []

beforeEach(async () => {
  database = await createTestDatabase('', 'postgres')
  store = await openStore(database.place)
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()))
  await store.close()
  await database.remove()
})

/** Somebody who listens and remembers. */
async function listener() {
  const heard: string[] = []
  const logged: string[] = []
  const log = {
    info: (_: object, text: string) => void logged.push(text),
    warn: (_: object, text: string) => void logged.push(text),
  }
  let connections = 0
  const notifications = openNotifications(
    { connectionString: database.url },
    { arrived: (text) => heard.push(text), connected: () => (connections += 1) },
    { queries: store.read, timers: systemTimers, log },
  )
  open.push(notifications)
  const connected = (times: number) => waitFor('the connection', () => connections >= times)
  await connected(1)
  return { notifications, heard, logged, connected }
}

async function cutAll(): Promise<number> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rowCount } = await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'holdfast notifications' and datname = current_database()`,
  )
  await client.end()
  return rowCount ?? 0
}

test('everybody hears everything, in its order, whatever is in it', async () => {
  const [one, other] = [await listener(), await listener()]
  const texts = ['first', `'; drop table job; --`, 'ä😀\\', 'x'.repeat(7900)]
  for (const text of texts) await one.notifications.send(text)
  await waitFor('all of it', () => other.heard.length === texts.length)
  expect([one.heard, other.heard]).toEqual([texts, texts])
})

test('a lost connection is made again and said once; what is sent meanwhile is not kept', async () => {
  const [one, other] = [await listener(), await listener()]
  expect(await cutAll()).toBe(2)
  await Promise.all([one.connected(2), other.connected(2)])
  await one.notifications.send('after')
  await waitFor('the text', () => other.heard.length > 0)
  expect(other.heard).toEqual(['after'])
  expect(other.logged.filter((line) => line.startsWith('no word'))).toHaveLength(1)
})

test('nothing is sent after the end, and no connection is left', async () => {
  const { notifications } = await listener()
  await notifications.close()
  await expect(notifications.send('late')).rejects.toThrow()
  expect(await cutAll()).toBe(0)
})
