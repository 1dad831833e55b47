import { CLOSE_REASONS, type BlobFrame, type CloseReasonName } from '@holdfast/protocol'
import type { Logger } from '../log.js'
import type { BackOff } from './back-off.js'
import {
  type Connection,
  type ConnectionEnd,
  type ConnectionDependencies,
  openConnection,
  type Welcome,
  type WorkMessage,
} from './connection.js'

/**
 * A connection counts as good after so many milliseconds, or sooner if the heartbeat is quicker. The time is short, so
 * that it also works in a network that comes and goes every few seconds.
 */
const PROVEN_MS = 1_000

/** After one of these messages a connection counts as good at once, because it does real work. */
const PROOFS: ReadonlySet<WorkMessage['type']> = new Set(['ack', 'end_stored'])

/** What the link tells the rest of the agent. `down` follows every `up`, once. */
export interface LinkEvents {
  up(welcome: Welcome, connection: Connection): void
  message(message: WorkMessage): void
  blob(frame: BlobFrame): void
  heartbeat(connection: Connection): void
  down(): void
  /** The control plane did not welcome this runner, or closed the connection for this reason. It follows `down`. */
  refused?(reason: CloseReasonName): void
}

/**
 * Keeps one connection to the control plane, dialling again whenever it is lost, until it is closed. The waits between
 * the dials grow until a connection counts as good. A welcome alone is not enough: an agent whose connections are lost
 * right after the welcome would dial several times a second for ever.
 */
export interface Link {
  start(): void
  /** Connections made so far. */
  readonly connects: number
  close(): Promise<void>
}

/** How to dial, and what comes before. */
export interface LinkDependencies extends ConnectionDependencies {
  /** Is awaited before each dial. Never rejects. */
  readonly prepare?: () => Promise<void>
}

/** A link that dials. It does so after `start`. */
export function createLink(deps: LinkDependencies, backOff: BackOff, events: LinkEvents, log: Logger): Link {
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  let connection: Connection | null = null
  let connects = 0

  const connectOnce = async (): Promise<ConnectionEnd> => {
    let proving: NodeJS.Timeout | undefined
    const proven = (): void => {
      backOff.reset()
    }
    connection = openConnection(deps, {
      ...events,
      welcome: (welcome, current) => {
        connects += 1
        proving = setTimeout(proven, Math.min(PROVEN_MS, welcome.heartbeat_ms))
        events.up(welcome, current)
      },
      message: (message) => {
        if (PROOFS.has(message.type)) proven()
        events.message(message)
      },
    })
    const end = await connection.ended
    clearTimeout(proving)
    connection = null
    if (end.welcomed) events.down()
    return end
  }

  const keepConnected = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await deps.prepare?.()
      if (stopping.signal.aborted) return
      const end = await connectOnce()
      if (stopping.signal.aborted) return
      if (end.reason !== null) events.refused?.(end.reason)
      const needsPerson = end.reason !== null && !CLOSE_REASONS[end.reason].retry
      const waitMs = needsPerson ? backOff.longest() : backOff.next()
      const what = end.welcomed ? 'the connection to the control plane ended' : 'cannot join the control plane'
      log.warn({ reason: end.reason ?? undefined, retry_ms: waitMs }, `${what}: ${end.text}`)
      await pause(waitMs, stopping.signal)
    }
  }

  return {
    start() {
      running = keepConnected()
    },
    get connects() {
      return connects
    },
    async close() {
      stopping.abort()
      connection?.close('going_away')
      await running
    },
  }
}

/** Waits so long, or until the signal comes. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, milliseconds)
    signal.addEventListener('abort', done)
  })
}
