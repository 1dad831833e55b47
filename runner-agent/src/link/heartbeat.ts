/** Checks per heartbeat. So a dead connection is noticed after two heartbeats and a quarter at the latest. */
const LOOKS_PER_HEARTBEAT = 4

/** A connection is dead after so many checks without any traffic: two heartbeats. */
const MAX_SILENT_LOOKS = 2 * LOOKS_PER_HEARTBEAT

/**
 * Watches over one connection. It counts checks and compares no times. So a pause of this process (a busy or suspended
 * host) does not make a working control plane look dead. The bytes that came during the pause are read before the
 * second check after it.
 * @returns a function that ends the watch
 */
export function watchHeartbeat(deps: {
  readonly heartbeatMs: number
  /** Bytes that came over the connection so far: any traffic counts as life. */
  readonly bytesRead: () => number
  /** Called every heartbeat. */
  readonly beat: () => void
  /** Called once, when nothing came for two heartbeats. */
  readonly dead: () => void
}): () => void {
  const { heartbeatMs, bytesRead, beat, dead } = deps
  let heardBytes = bytesRead()
  let silentLooks = 0
  let looks = 0
  const timer = setInterval(() => {
    looks += 1
    if (looks % LOOKS_PER_HEARTBEAT === 0) beat()
    const bytes = bytesRead()
    silentLooks = bytes === heardBytes ? silentLooks + 1 : 0
    heardBytes = bytes
    if (silentLooks <= MAX_SILENT_LOOKS) return
    clearInterval(timer)
    dead()
  }, heartbeatMs / LOOKS_PER_HEARTBEAT)
  return () => {
    clearInterval(timer)
  }
}
