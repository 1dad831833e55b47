/** Looks per heartbeat: a dead connection is noticed after two heartbeats and a quarter at the latest. */
const LOOKS_PER_HEARTBEAT = 4

export interface LifeOptions {
  readonly heartbeatMs: number
  /** Bytes that came over the connection so far: any traffic counts as life. */
  readonly bytesRead: () => number
  /** Called every heartbeat. */
  readonly beat: () => void
  /** Called once, when nothing came for two heartbeats. */
  readonly dead: () => void
}

/** Watches over one connection. @returns a function that ends the watch */
export function watchLife({ heartbeatMs, bytesRead, beat, dead }: LifeOptions): () => void {
  let heardBytes = bytesRead()
  let heardAt = performance.now()
  let looks = 0
  const timer = setInterval(() => {
    looks += 1
    if (looks % LOOKS_PER_HEARTBEAT === 0) beat()
    const bytes = bytesRead()
    const now = performance.now()
    if (bytes !== heardBytes) {
      heardBytes = bytes
      heardAt = now
    } else if (now - heardAt > 2 * heartbeatMs) {
      clearInterval(timer)
      dead()
    }
  }, heartbeatMs / LOOKS_PER_HEARTBEAT)
  return () => {
    clearInterval(timer)
  }
}
