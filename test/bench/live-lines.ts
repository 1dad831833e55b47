import { setTimeout as pause } from 'node:timers/promises'
import type { Product } from '../support/product.js'

/** How often a reader asks for more. */
const LOOK_EVERY_MS = 25

/** A line of a stamped job: when it was written, and when a reader had it. Milliseconds since the epoch. */
interface SeenLine {
  readonly writtenAt: number
  readonly seenAt: number
}

/** A reader who follows the output of one stamped job over REST, by offset, from the start to `stop`. */
export interface LiveLines {
  /** How long after they were written the lines written from `from` to `to` were seen, in seconds. */
  lags(from: number, to: number): number[]
  /** When the first line that was written after `time` was seen, or null. */
  firstAfter(time: number): number | null
  stop(): Promise<void>
}

export function followLines(product: Product, jobId: number): LiveLines {
  const lines: SeenLine[] = []
  let rest = ''
  let offset = 0
  let stopped = false

  const look = async (): Promise<void> => {
    const { status, bytes } = await product.admin.raw(`/job/${jobId}/output?offset=${offset}`)
    if (status !== 200) throw new Error(`output of job ${jobId}: ${status} ${bytes.toString()}`)
    const seenAt = Date.now()
    offset += bytes.length
    const parts = (rest + bytes.toString('latin1')).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const stamp = /^step \d+ at (\d+): /.exec(part)?.[1]
      if (stamp !== undefined) lines.push({ writtenAt: Number(stamp), seenAt })
    }
  }

  const follow = async (): Promise<void> => {
    while (!stopped) {
      // A control plane that is down is a part of what is measured.
      await look().catch(() => undefined)
      await pause(LOOK_EVERY_MS)
    }
  }
  const following = follow()

  return {
    lags: (from, to) =>
      lines
        .filter(({ writtenAt }) => writtenAt >= from && writtenAt <= to)
        .map(({ writtenAt, seenAt }) => (seenAt - writtenAt) / 1000),
    firstAfter: (time) => lines.find(({ writtenAt }) => writtenAt > time)?.seenAt ?? null,
    async stop() {
      stopped = true
      await following
    },
  }
}
