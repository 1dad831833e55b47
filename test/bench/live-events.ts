import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Product, startProduct } from '../support/product.js'
import { cpuSeconds, residentBytes } from './cpu.js'
import type { Figure } from './report.js'
import { percentile } from './statistics.js'

type Say = (line: string) => void

const READERS_PROGRAM = join(dirname(fileURLToPath(import.meta.url)), 'event-readers.ts')
const REACH_MS = 500
/** Readers that never read, beside the others. */
const STUCK = 100
const CHANGES = 20
/** Longer than the second in which a name is sent once, so that each change is sent at once. */
const BETWEEN_CHANGES_MS = 2000
/** Changes that are made at once, of which a stream hears of the first and of the last. */
const BURST = 10
/** Two rounds of pings. */
const QUIET_MS = 30_000

/** How long a change that is made over REST takes to everybody who follows the event stream, and what streams cost. */
export async function measureLiveEvents(streams: number, say: Say): Promise<Figure[]> {
  const product = await startProduct({ withAgent: false, controlPlane: { EVENT_STREAMS_PER_SESSION: '0' } })
  const { pid } = product.controlPlane
  let readers: Readers | null = null
  try {
    const memoryBefore = residentBytes(pid)
    readers = await openReaders(product, streams)
    const memory = residentBytes(pid) - memoryBefore
    say(`  ${streams} streams open, and ${STUCK} that nobody reads`)
    const quietCpu = await cpuWhile(pid, () => pause(QUIET_MS))
    await readers.arrivals()
    const { delays, cpu: withPings } = await measureChanges(product, readers)
    const cpu = withPings - quietCpu * ((CHANGES * BETWEEN_CHANGES_MS) / QUIET_MS)
    const burst = await measureBurst(product, readers)
    const all = `${streams + STUCK} streams, ${STUCK} of them never read`
    const p99 = percentile(delays, 99)
    const note = `p50 ${percentile(delays, 50).toFixed(0)} ms, worst ${Math.max(...delays).toFixed(0)} ms, ${CHANGES} changes, ${all}`
    say(`  p99 ${p99.toFixed(0)} ms, ${note}`)
    const shown = { reach: null, digits: 1 } as const
    return [
      {
        what: 'live events: request that changes to arrival, p99',
        value: p99,
        unit: 'ms',
        digits: 0,
        note,
        reach: { value: REACH_MS, better: 'lower' },
      },
      {
        what: `live events: ${BURST} changes at once, streams that missed the last`,
        value: burst.missed,
        unit: '',
        digits: 0,
        note: `a stream was sent ${burst.fewest} to ${burst.most} events`,
        reach: { value: 0, better: 'lower' },
      },
      {
        ...shown,
        what: 'live events: memory of a stream',
        value: memory / 1024 / (streams + STUCK),
        unit: 'KiB',
        note: all,
      },
      { ...shown, what: 'live events: CPU of a change', value: (cpu / CHANGES) * 1000, unit: 'ms', note: all },
      {
        ...shown,
        what: 'live events: CPU of pings and checks of sessions',
        value: (quietCpu / QUIET_MS) * 100_000,
        unit: '% of a core',
        note: `${QUIET_MS / 1000} s without a change`,
      },
      {
        ...shown,
        what: 'live events: resident memory at the end',
        unit: 'MB',
        note: all,
        value: residentBytes(pid) / 1e6,
      },
    ]
  } finally {
    readers?.close()
    await product.close()
  }
}

async function measureChanges(product: Product, readers: Readers): Promise<{ delays: number[]; cpu: number }> {
  const begun: number[] = []
  const cpu = await cpuWhile(product.controlPlane.pid, async () => {
    for (let change = 0; change < CHANGES; change += 1) {
      begun.push(await announce(product, `change ${change}`))
      await pause(BETWEEN_CHANGES_MS)
    }
  })
  const arrivals = await readers.arrivals()
  const wrong = arrivals.filter((times) => times.length !== CHANGES).length
  if (wrong > 0) throw new Error(`${wrong} streams were not sent ${CHANGES} events for ${CHANGES} changes`)
  return { cpu, delays: arrivals.flatMap((times) => times.map((time, index) => time - (begun[index] ?? 0))) }
}

async function measureBurst(product: Product, readers: Readers) {
  const last = await Promise.all(Array.from({ length: BURST }, (_, index) => announce(product, `burst ${index}`)))
  await pause(BETWEEN_CHANGES_MS * 2)
  const arrivals = await readers.arrivals()
  const counts = arrivals.map((times) => times.length)
  const missed = arrivals.filter((times) => (times.at(-1) ?? 0) < Math.max(...last)).length
  return { missed, fewest: Math.min(...counts), most: Math.max(...counts) }
}

/** Changes the announcement. @returns when the request began, in milliseconds of the machine's monotonic clock */
async function announce(product: Product, announcement: string): Promise<number> {
  const begin = Number(process.hrtime.bigint()) / 1e6
  const { status } = await product.admin.request('PUT', '/settings/appearance', { announcement })
  if (status !== 200) throw new Error(`PUT /settings/appearance: ${status}`)
  return begin
}

async function cpuWhile(pid: number, run: () => Promise<unknown>): Promise<number> {
  const before = cpuSeconds(pid)
  await run()
  return cpuSeconds(pid) - before
}

/** The process of the readers. */
interface Readers {
  /** When each reader got each event since the last call. */
  arrivals(): Promise<number[][]>
  close(): void
}

async function openReaders(product: Product, streams: number): Promise<Readers> {
  const { hostname, port } = new URL(product.address)
  const program = ['--import', 'tsx', READERS_PROGRAM, hostname, port, String(streams), String(STUCK)]
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(process.execPath, program, {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const answer = async () => {
    const { done, value } = await lines.next()
    if (done) throw new Error('the process of the readers has ended')
    return value
  }
  child.stdin.write(`${product.admin.token}\n`)
  await answer()
  return {
    async arrivals() {
      child.stdin.write('arrivals\n')
      return JSON.parse(await answer()) as number[][]
    },
    close: () => void child.kill(),
  }
}
