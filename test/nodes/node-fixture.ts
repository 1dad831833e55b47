import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MAX_SOCKET_MESSAGE_BYTES, SOCKET_PATH } from '@holdfast/protocol'
import pino from 'pino'
import { WebSocketServer } from 'ws'
import { type LiveName, createLiveEvents } from '../../control-plane/src/live/live-events.js'
import { createSharedNode } from '../../control-plane/src/nodes/nodes.js'
import { createDispatcher } from '../../control-plane/src/runners/dispatch/dispatcher.js'
import { createRunnerHub } from '../../control-plane/src/runners/registration/hub/hub.js'
import { type DatabasePlace, openStore } from '../../control-plane/src/store/open-store.js'
import { type Timers, systemTimers } from '../../control-plane/src/time/timers.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import { TEST_SERVICE_SOURCE } from '../support/service-identity.js'
import { createTestDatabase } from '../support/test-database.js'
import { type PostOffice, createPostOffice } from './post-office.js'
import { AMPLE } from '../support/ample-limits.js'
import type { Store } from '../../control-plane/src/store/store.js'

const MANIFEST = { sha256: 'a'.repeat(64), json: Buffer.from('{}'), leftOut: [] }

/** RTE_LOST_SECONDS of the nodes. */
export const LOST_MS = 60_000

/** Silence after which the nodes give jobs up; shorter, since it passes look by look. */
const SILENCE_MS = 20_000

export type TestNode = Awaited<ReturnType<typeof startNode>>

/**
 * One of several control planes on one database, in this process: its runners' side, behind a server of its own. It looks
 * at the other nodes when the test says so (`look`), and at everything else by itself.
 */
async function startNode(place: DatabasePlace, office: PostOffice) {
  const store = await openStore(place)
  const clock = { now: () => Date.now() }
  const steady = { later: 0, now: () => Date.now() + steady.later }
  const logged: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) })
  const timers: Timers = { after: (ms, run) => systemTimers.after(ms, run), every: () => () => undefined }
  const nodes = createSharedNode({
    store: store as Store,
    clock,
    timers,
    log,
    random: randomBytes,
    version: '0.1.0',
    openPost: office.openPost,
  })
  const live = createLiveEvents(nodes.bus)
  nodes.onChange(() => live.changed('runners'))
  const raised: LiveName[] = []
  live.subscribe((name) => raised.push(name))
  const dispatcher = createDispatcher({
    store: store as Store,
    clock,
    live,
    log,
    nodes,
    steady,
    lostMs: SILENCE_MS,
    files: { manifest: () => Promise.resolve(MANIFEST), open: () => Promise.resolve(null) },
    sealSecrets: () => Promise.resolve(null),
    uploads: { path: '/uploads', read: () => Promise.resolve(null) },
    outputLimitBytes: 1_000_000,
    limits: AMPLE,
    queueMs: 60_000,
  })
  const broken = { isBroken: false }
  const hub = createRunnerHub({
    clock,
    random: randomBytes,
    live,
    log,
    nodes,
    steady,
    service: TEST_SERVICE_SOURCE,
    version: '0.1.0',
    lostMs: LOST_MS,
    store: {
      ...store,
      get read() {
        if (broken.isBroken) throw new Error('the database is out of reach')
        return store.read
      },
    } as Store,
    openSession: dispatcher.openSession,
    onRevoked: dispatcher.revoked,
  })
  const server = createServer()
  const sockets = new WebSocketServer({
    server,
    path: SOCKET_PATH,
    maxPayload: MAX_SOCKET_MESSAGE_BYTES,
    autoPong: false,
  })
  sockets.on('connection', (socket, request) => hub.accept(socket, request.socket.remoteAddress ?? '', request.socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await nodes.start(`here:${port}`)
  let isClosed = false

  return {
    store: store as Store,
    nodes,
    /** Makes the database unreadable for what looks after the runners. */
    broken,
    /** Measures silence; `later` moves it. */
    steady,
    live,
    raised,
    dispatcher,
    hub,
    logged,
    url: `ws://127.0.0.1:${port}${SOCKET_PATH}`,
    /** Moves its own row and looks at those of the others. */
    look: () => nodes.look(),
    async runnerOf(name: string) {
      const view = (await hub.list()).find((one) => one.runner.name === name)
      if (!view) throw new Error(`there is no runner ${name}`)
      return view
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await hub.close()
      sockets.close()
      server.closeAllConnections()
      server.close()
      await dispatcher.close()
      await nodes.close()
      await store.close()
    },
  }
}

/** Two nodes on one database with a post office between them. */
export async function startTwoNodes() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-nodes-'))
  const office = createPostOffice()
  const database = await createTestDatabase(folder)
  const first = await startNode(database.place, office)
  const second = await startNode(database.place, office)
  await first.look()
  return {
    first,
    second,
    office,
    /** An agent with an empty spool that was approved at the node it is connected to. */
    async approvedAt(node: TestNode, name: string): Promise<RawAgent> {
      const agent = await RawAgent.join(node.url, newIdentity(name))
      const { runner } = await node.runnerOf(name)
      await node.hub.approve(runner.id, 'root')
      await agent.next('settings')
      agent.say({ type: 'inventory', jobs: [] })
      await agent.next('resume')
      return agent
    },
    async close() {
      await first.close()
      await second.close()
      await database.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type TwoNodes = Awaited<ReturnType<typeof startTwoNodes>>
