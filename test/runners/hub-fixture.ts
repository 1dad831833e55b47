import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MAX_SOCKET_MESSAGE_BYTES, SOCKET_PATH, type StreamFrame } from '@holdfast/protocol'
import pino from 'pino'
import { WebSocketServer } from 'ws'
import { createLiveEvents } from '../../control-plane/src/live/live-events.js'
import type { JobMessage, RunnerCapacity, RunnerConnection } from '../../control-plane/src/runners/socket/connection.js'
import type { HubDependencies } from '../../control-plane/src/runners/registration/hub-options.js'
import { createRunnerHub } from '../../control-plane/src/runners/registration/hub/hub.js'
import { createJoinTokens } from '../../control-plane/src/runners/registration/join/tokens.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import { TEST_SERVICE, TEST_SERVICE_SOURCE, fingerprintOfService } from '../support/service-identity.js'
import { openTestStore } from '../support/test-database.js'

/** A session that only remembers. A test may put something into `onMessage` or `onFrame`. */
class RecordingSession {
  readonly messages: JobMessage[] = []
  readonly frames: StreamFrame[] = []
  readonly capacities: RunnerCapacity[] = []
  isClosed = false

  constructor(
    readonly connection: RunnerConnection,
    capacity: RunnerCapacity,
    private readonly fixture: { onMessage?: (message: JobMessage) => void },
  ) {
    this.capacities.push(capacity)
  }

  message(message: JobMessage): void {
    this.fixture.onMessage?.(message)
    this.messages.push(message)
  }

  frame(frame: StreamFrame): void {
    this.frames.push(frame)
  }

  capacityChanged(capacity: RunnerCapacity): void {
    this.capacities.push(capacity)
  }

  closed(): void {
    this.isClosed = true
  }
}

export type HubFixture = Awaited<ReturnType<typeof startHub>>

/** A hub behind a real server on a free port, with a real database in a folder of its own and a clock to turn. */
export async function startHub(
  options: Partial<Pick<HubDependencies, 'heartbeatMs' | 'limits'>> & { readonly store?: (store: Store) => Store } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-hub-'))
  const opened = await openTestStore(folder)
  const store = options.store?.(opened) ?? opened
  const clock = { offset: 0, now: () => Date.now() + clock.offset }
  const logged: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) })
  const live = createLiveEvents()
  const raised: string[] = []
  live.subscribe((name) => raised.push(name))
  const revoked: number[] = []
  const sessions: RecordingSession[] = []
  const behaviour: { onMessage?: (message: JobMessage) => void } = {}

  const hub = createRunnerHub({
    store,
    service: TEST_SERVICE_SOURCE,
    clock,
    random: randomBytes,
    live,
    log,
    version: '0.1.0',
    openSession(connection, capacity) {
      const session = new RecordingSession(connection, capacity, behaviour)
      sessions.push(session)
      return session
    },
    onRevoked: (id) => void revoked.push(id),
    heartbeatMs: options.heartbeatMs,
    limits: options.limits,
  })
  const tokens = createJoinTokens({
    store,
    clock,
    random: randomBytes,
    log,
    fingerprint: () => fingerprintOfService(TEST_SERVICE),
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
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}${SOCKET_PATH}`

  /** The row of a name that is not denied. */
  async function byName(name: string) {
    const view = (await hub.list()).find((one) => one.runner.name === name && one.runner.state !== 'denied')
    if (!view) throw new Error(`there is no runner ${name}`)
    return view
  }

  return {
    folder,
    hub,
    tokens,
    store,
    clock,
    url,
    logged,
    raised,
    revoked,
    sessions,
    behaviour,
    live,
    log,
    /** A fresh agent that an admin has approved. */
    async approved(name: string): Promise<RawAgent> {
      const agent = await RawAgent.join(url, newIdentity(name))
      const { runner } = await byName(name)
      await hub.approve(runner.id, 'root')
      await agent.next('settings')
      return agent
    },
    byName,
    async close() {
      await hub.close()
      sockets.close()
      server.closeAllConnections()
      server.close()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
