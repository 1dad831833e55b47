import type { AgentSocket } from './agent-socket.js'

/** Looks at each socket this often in one heartbeat, so that a loss is noticed soon after two of them. */
const CHECKS_PER_HEARTBEAT = 4

/** Checks without any traffic after which a connection is dead: two heartbeats. */
const MAX_SILENT_CHECKS = 2 * CHECKS_PER_HEARTBEAT

export interface Heartbeat {
  close(): void
}

/**
 * One timer for all sockets: pings each once a heartbeat and gives up those from which nothing came for two. Checks are
 * counted and no time is compared, so neither a jumping clock nor a pause of this process can make a live runner look
 * dead: whatever arrived meanwhile is read before the second check that follows.
 */
export function createHeartbeat(
  heartbeatMs: number,
  sockets: () => Iterable<AgentSocket>,
  lost: (socket: AgentSocket) => void,
): Heartbeat {
  let checks = 0
  const timer = setInterval(() => {
    checks += 1
    const pings = checks % CHECKS_PER_HEARTBEAT === 0
    for (const socket of sockets()) {
      if (socket.checkSilence() > MAX_SILENT_CHECKS) lost(socket)
      else if (pings) socket.ping()
    }
  }, heartbeatMs / CHECKS_PER_HEARTBEAT)
  timer.unref()
  return { close: () => clearInterval(timer) }
}
