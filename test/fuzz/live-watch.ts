import { type Waits, startLiveProber } from '../support/live-prober.js'

/** The waits for /live that count, of a second process that asks all the time. */
export interface LiveWatch {
  /** Takes in what was seen since the last call. @returns that; null when the service did not answer any more */
  look(): Promise<Waits | null>
  /** Leaves out what was seen since the last call. */
  forget(): Promise<void>
  /** All that counts; null when the service did not answer any more. */
  seen(): Promise<Waits | null>
  close(): void
}

/** @param address of the service */
export function watchLive(address: string): LiveWatch {
  const prober = startLiveProber(address)
  let all: Waits | null = { worst: 0, count: 0, late: 0 }

  async function take(counts: boolean): Promise<Waits | null> {
    // A service that ended is found by others; here it only has no figure.
    const waits = await prober.waits().catch(() => null)
    if (waits === null || all === null) all = null
    else if (counts) {
      const [worst, late] = [Math.max(all.worst, waits.worst), Math.max(all.late, waits.late)]
      all = { worst, late, count: all.count + waits.count }
    }
    return waits
  }

  return {
    look: () => take(true),
    async forget() {
      await take(false)
    },
    async seen() {
      await take(true)
      return all
    },
    close: () => prober.close(),
  }
}
