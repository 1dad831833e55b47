import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import type { Bus } from '../../../control-plane/src/nodes/bus.js'
import { SOLE_NODE } from '../../../control-plane/src/nodes/nodes.js'
import type { AgentConnection } from '../../../control-plane/src/runners/socket/agent-connection.js'
import { createHubPoll } from '../../../control-plane/src/runners/registration/hub/poll.js'
import { createKeyedQueue } from '../../../protocol/host/src/queues.js'
import { createRegistry } from '../../../control-plane/src/runners/registration/connections/registry.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'
import type { Store } from '../../../control-plane/src/store/store.js'

const LET_GO_MS = 1500
/** Between two looks; longer than runners are kept without the database. */
const BETWEEN_MS = 2000

/** A node with one runner. `look` is what happens every two seconds, and whenever words of other nodes may be missed. */
async function createWatched() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-poll-'))
  const store = await openSqliteStore(join(folder, 'holdfast.db'))
  let [now, look] = [0, (): void => undefined]
  const closed: string[] = []
  const registry = createRegistry()
  const connection = {
    hello: { fingerprint: 'SHA256:one' },
    runnerId: 1,
    close: (reason: string) => void closed.push(reason),
  } as unknown as AgentConnection
  registry.add(connection)
  const bus: Bus = {
    ...SOLE_NODE.bus,
    subscribe: ({ missed }) => {
      look = missed
      return () => undefined
    },
  }
  const poll = createHubPoll({
    store: store as Store,
    registry,
    queue: createKeyedQueue(),
    log: pino({ level: 'silent' }),
    letGoMs: LET_GO_MS,
    nodes: { ...SOLE_NODE, bus },
    refresh: () => Promise.resolve(),
    steady: { now: () => now },
  })
  onTestFinished(async () => {
    await poll.close()
    rmSync(folder, { recursive: true })
  })
  return {
    store: store as Store,
    closed,
    async look() {
      now += BETWEEN_MS
      look()
      await poll.poll().catch(() => undefined)
    },
  }
}

test('runners stay connected as long as every query is answered, however rare the queries are', async () => {
  const watched = await createWatched()
  for (let count = 0; count < 3; count += 1) await watched.look()
  expect(watched.closed).toEqual([])
  await watched.store.close()
})

test('runners are disconnected when the database has not answered for a long time', async () => {
  const watched = await createWatched()
  await watched.look()
  await watched.store.close()
  await watched.look()
  expect(watched.closed).toEqual([])
  await watched.look()
  expect(watched.closed).toEqual(['going_away'])
})
