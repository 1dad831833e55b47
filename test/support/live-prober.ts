import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const PROGRAM = join(import.meta.dirname, 'live-prober-program.ts')

/** The longest wait for an answer of /live, in milliseconds, how many answers there were, and how late the asking was itself, in milliseconds. */
export interface Waits {
  readonly worst: number
  readonly count: number
  readonly late: number
}

/** A second process that asks /live of a service every 20 ms: it sees for how long nobody is answered. */
export interface LiveProber {
  /** What it saw since the call before. @throws Error when it has ended, since the service did not answer it */
  waits(): Promise<Waits>
  close(): void
}

/** @param address of the service, without a slash at its end */
export function startLiveProber(address: string): LiveProber {
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, address], { stdio: ['pipe', 'pipe', 'inherit'] })
  // What is written to one that has ended is of no use to anybody.
  child.stdin.on('error', () => undefined)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async waits() {
      child.stdin.write('\n')
      const { value, done } = await lines.next()
      if (done) throw new Error('the process that asks /live has ended')
      return JSON.parse(String(value)) as Waits
    },
    close: () => child.stdin.end(),
  }
}
