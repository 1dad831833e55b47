import type { AgentSocket } from './agent-socket.js'

/** How many checks there are in one heartbeat. So a loss is noticed soon after two heartbeats. */
const CHECKS_PER_HEARTBEAT = 4

/** Checks without any traffic after which a connection counts as dead: two heartbeats. */
const MAX_SILENT_CHECKS = 2 * CHECKS_PER_HEARTBEAT

/**
 * One timer for all sockets. It pings each socket once in a heartbeat, and closes those from which nothing came for two
 * heartbeats. It counts checks and compares no times. So neither a jumping clock nor a pause of this process can make a
 * living runner look dead: what arrived in the meantime is read before the second check.
 */
export function createHeartbeat(
  heartbeatMs: number,
  sockets: () => Iterable<AgentSocket>,
  lost: (socket: AgentSocket) => void,
) {
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
