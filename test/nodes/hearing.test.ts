import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControlPlane } from '../../control-plane/src/main.js'
import { readSettings } from '../../control-plane/src/settings.js'
import { heldTimers } from '../api/held-timers.js'
import { type EventStream, openEventStream } from '../support/event-stream.js'
import { type RestClient, signIn } from '../support/rest.js'
import { createTestDatabase } from '../support/test-database.js'
import { startTransactionPooler } from '../support/transaction-pooler.js'
import { waitFor } from '../support/wait.js'

/** Two control planes that reach their database through a pooler. Their timers run when the test says so. */
let pooler: Awaited<ReturnType<typeof startTransactionPooler>>
let one: Node
let other: Node
const closing: (() => Promise<void>)[] = []

type Node = Awaited<ReturnType<typeof startNode>>

const PASSWORD = 'correct horse battery'

async function startNode(folder: string, url: string) {
  const environment = {
    PERSISTENT_PATH: folder,
    PORT: '0',
    DATABASE_URL: url,
    ACCESS_TOKEN_SECRET: 'signs what only tests use',
    ENCRYPTION_SECRET: 'encrypts what only tests use',
    ADMIN_PASSWORD: PASSWORD,
  }
  const held = heldTimers()
  const said: string[] = []
  const { address, close } = await startControlPlane(
    readSettings({ environment, flags: {}, readFile: () => '' }, false),
    {
      timers: held.timers,
      log: pino({ level: 'info' }, { write: (line: string) => void said.push(line) }),
    },
  )
  closing.push(close)
  const admin: RestClient = await signIn(address, 'admin', PASSWORD)
  const stream: EventStream = await openEventStream(address, admin.token)
  closing.push(() => Promise.resolve(stream.close()))
  return {
    admin,
    stream,
    said: (text: string) => said.filter((line) => line.includes(text)).length,
    pass: (ms: number) => held.move(ms),
    warns: async () => (await (await fetch(`${address}/api/v2/ready`)).text()).includes('does not hear'),
  }
}

beforeAll(async () => {
  const database = await createTestDatabase('', 'postgres')
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-hearing-'))
  pooler = await startTransactionPooler(database.url)
  closing.push(async () => {
    await pooler.close()
    await database.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  pooler.setMode('session')
  one = await startNode(folder, pooler.url)
  other = await startNode(folder, pooler.url)
})
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

/** Lets time pass at both nodes until something holds. */
async function waitWhileTimePasses(what: string, holds: () => boolean): Promise<void> {
  const look = (): boolean => {
    for (const node of [one, other]) node.pass(500)
    return holds()
  }
  await waitFor(what, look, { everyMs: 50 })
}

async function waitUntilBothSay(text: string): Promise<void> {
  for (const node of [one, other]) node.pass(45_000)
  await waitWhileTimePasses(text, () => one.said(text) > 0 && other.said(text) > 0)
}

/** Changes something at one node, until a stream of the other node has told it. */
async function expectToCross(announcement: string): Promise<void> {
  const before = other.stream.changes().length
  await one.admin.request('PUT', '/settings/appearance', { announcement })
  await waitWhileTimePasses('the change', () =>
    other.stream
      .changes()
      .slice(before)
      .some((change) => (change as { name: string }).name === 'appearance'),
  )
}

test('a node that hears the others warns of nothing', async () => {
  await expectToCross('heard')
  expect([await one.warns(), await other.warns()]).toEqual([false, false])
})

test('a node that hears nothing any more says so, and its streams learn of changes all the same', async () => {
  pooler.setMode('transaction')
  await waitUntilBothSay('does not hear')
  expect([await one.warns(), await other.warns()]).toEqual([true, true])
  await expectToCross('not heard')
})

test('a node that hears again says so', async () => {
  pooler.setMode('session')
  await waitUntilBothSay('hears the others again')
  expect([await one.warns(), await other.warns()]).toEqual([false, false])
  await expectToCross('heard again')
})
