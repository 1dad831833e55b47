import type { Logger } from 'pino'
import type { Clock } from '../../../time/clock.js'
import { messageOf } from '../../../errors.js'
import type { Nodes } from '../../../nodes/nodes.js'
import {
  type WatchedRunner,
  clearConnectedNode,
  findRunner,
  findRunnersOfNode,
} from '../../../store/runners/runners.js'
import type { Store } from '../../../store/store.js'
import type { AgentConnection } from '../../socket/agent-connection.js'
import type { KeyedQueue } from '@holdfast/host/queues'
import type { Registry } from '../registry.js'

/** How often this node reads the rows of its connected runners, in milliseconds, to find what other nodes changed. */
const POLL_MS = 2000

/** What the poll needs of other parts. */
interface HubPollDependencies {
  readonly store: Store
  readonly nodes: Nodes
  readonly registry: Registry
  readonly queue: KeyedQueue
  readonly log: Logger
  readonly refresh: (runnerId: number) => Promise<void>
  /** A clock that does not jump. */
  readonly steady: Clock
  /** How long the database may be out of reach before the runners' connections are closed, in milliseconds. */
  readonly letGoMs: number
}

/**
 * Keeps the connections of this node in line with what other nodes store. Without the database it cannot do so, and
 * this node can store nothing for its runners. So after a while it closes the connections of its runners, because
 * another node may reach the database.
 *
 * Other nodes announce at once what they changed of a runner. This poll finds the changes whose announcement was lost.
 * Each connection is handled in the queue of its key, by its row as it is then, because the row that was read for all
 * of them may be old by that time.
 */
export function createHubPoll(deps: HubPollDependencies) {
  const { store, nodes, registry, log, steady } = deps
  let polling: Promise<void> | null = null
  /** The time of the first query without an answer; null: the latest query was answered. */
  let askedAt: number | null = null
  /** A failure is logged once, until it works again. */
  let isReported = false

  async function pollOnce(): Promise<void> {
    const connections = new Map(registry.all().map((connection) => [connection.runnerId, connection]))
    const rows = await findRunnersOfNode(store.read, [...connections.keys()], nodes.id)
    askedAt = null
    isReported = false
    const known = new Map(rows.map((row) => [row.id, row]))
    const changed = [...connections].filter(([id, connection]) => isNews(connection, known.get(id)))
    const lost = rows.filter((row) => row.connectedNode === nodes.id && !connections.has(row.id))
    await Promise.all([...changed.map(([id]) => deps.refresh(id)), ...lost.map((row) => disown(deps, row))])
  }

  /** Checks all of them. It runs automatically where there are other nodes. */
  function poll(): Promise<void> {
    polling ??= pollOnce().finally(() => {
      polling = null
    })
    return polling
  }

  const failed = (error: unknown) => {
    if (!isReported) log.warn({ reason: messageOf(error) }, 'looking after runners failed; it is tried again')
    isReported = true
  }

  const pollQuietly = () => {
    // A query may fail or stay without an answer. The time between two queries tells nothing about the database.
    askedAt ??= steady.now()
    const blindMs = steady.now() - askedAt
    poll().catch(failed)
    if (blindMs > deps.letGoMs) letGo(registry, log)
  }
  const stopListening = nodes.bus.subscribe({
    received(message) {
      if (message.topic !== 'runner') return
      deps.refresh(message.runner).catch(pollQuietly)
    },
    missed: pollQuietly,
  })
  const timer = nodes.isShared ? setInterval(pollQuietly, POLL_MS).unref() : undefined

  return {
    poll,
    async close(): Promise<void> {
      clearInterval(timer)
      stopListening()
      await polling?.catch(() => undefined)
    },
  }
}

/**
 * Corrects a row that says this node has the socket, although it has not. The end of that socket could not be stored.
 */
function disown(
  { store, nodes, registry, queue }: HubPollDependencies,
  { id, fingerprint }: WatchedRunner,
): Promise<void> {
  return queue.run(fingerprint, async () => {
    if (registry.of(fingerprint)) return
    const now = await findRunner(store.read, id)
    if (now?.connectedNode !== nodes.id) return
    await store.write('runners.disown', (queries) => clearConnectedNode(queries, id, now.epoch))
  })
}

/** Closes the connections of this node, because another node may reach the database. */
function letGo(registry: Registry, log: Logger): void {
  const held = registry.all()
  if (held.length === 0) return
  log.warn({ runners: held.length }, 'the database is out of reach: the runners are let go, another node may reach it')
  for (const connection of held) connection.close('going_away', 'this node cannot reach its database')
}

/** Whether a row differs in something that matters for its connection. */
function isNews({ runner, phase }: AgentConnection, row: WatchedRunner | undefined): boolean {
  if (!row || row.epoch !== runner.epoch || row.enabled !== runner.enabled || row.maxJobs !== runner.maxJobs)
    return true
  return row.state !== (phase === 'waiting' ? 'waiting' : 'approved')
}
