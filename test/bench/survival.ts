import type { Product } from '../support/product.js'
import { waitFor } from '../support/wait.js'
import { peakResidentBytes } from './cpu.js'
import { followLines } from './live-lines.js'
import type { Figure } from './report.js'
import { median, range } from './statistics.js'
import { openStoredReader } from './stored-lengths.js'
import { startSurvivalProduct } from './survival-product.js'

type Say = (line: string) => void

const MIB = 1024 * 1024
const PATIENCE = { timeoutMs: 900_000, everyMs: 50 }

/** A job that writes a line a twentieth of a second, for as long as anything here is measured. */
export const LIVE_LOAD = { steps: 1_000_000, perSecond: 20, stamped: true, gates: [2] }

/** Half of it output, half of it events: 2,250 bytes a step. */
const BACKLOG_STEP = { outputBytes: 1000, eventBytes: 1000 }
const BACKLOG_STEPS = 230_000

/**
 * Waits until a job has really ended, by its list record: reading the job itself would read all of its output. One that was
 * given up during a long cut has not.
 */
export async function waitForStatus(product: Product, jobId: number): Promise<string> {
  return waitFor(
    `job ${jobId} to end`,
    async () => {
      const { records } = await product.admin.get<{ records: { id: number; status: string }[] }>('/job?records=20')
      const job = records.find((record) => record.id === jobId)
      return job === undefined || ['running', 'abandoned'].includes(job.status) ? null : job.status
    },
    PATIENCE,
  )
}

/**
 * One job has 500 MB to catch up after its agent was away; another one writes on. How far behind its readers are meanwhile,
 * whether the connection holds, and how much memory both programs take.
 */
export async function measureFairness(say: Say): Promise<Figure[]> {
  const { product, launch, countSaid } = await startSurvivalProduct()
  const stored = await openStoredReader(product)
  try {
    const backlog = await launch('backlog', { ...BACKLOG_STEP, steps: BACKLOG_STEPS, gates: [2] })
    const live = await launch('live', LIVE_LOAD)
    await waitFor('both to have begun', async () => {
      const begun = await Promise.all([stored.read(backlog.jobId), stored.read(live.jobId)])
      return begun.every(({ bytes }) => bytes > 0)
    })
    await product.agent.stop('SIGKILL')
    backlog.truth.openGate(2)
    await waitFor('the backlog to be written', () => backlog.truth.finished(), PATIENCE)
    const backlogBytes = backlog.truth.written()

    live.truth.openGate(2)
    const before = countSaid('runner disconnected') + countSaid('heartbeat_lost')
    product.startAgent()
    await product.waitForRunner()
    const from = Date.now()
    const lines = followLines(product, live.jobId)
    await waitFor('the backlog', async () => (await stored.read(backlog.jobId)).bytes >= backlogBytes, PATIENCE)
    const drained = Date.now()
    const status = await waitForStatus(product, backlog.jobId)
    const ended = Date.now()
    if (status !== 'success') throw new Error(`the job with the backlog ended ${status}`)
    const lags = await waitFor('the last lines', () => {
      const seen = lines.lags(from, ended)
      return seen.length >= ((ended - from) / 1000) * LIVE_LOAD.perSecond * 0.9 ? seen : null
    })
    await lines.stop()
    const lost = countSaid('runner disconnected') + countSaid('heartbeat_lost') - before
    const rate = backlogBytes / 1e6 / ((drained - from) / 1000)
    const [agentPeak, controlPlanePeak] = [product.agent, product.controlPlane].map(
      ({ pid }) => peakResidentBytes(pid) / MIB,
    )
    say(
      `  ${(backlogBytes / 1e6).toFixed(0)} MB in ${((drained - from) / 1000).toFixed(1)} s, ended after ${((ended - from) / 1000).toFixed(1)} s; lag ${range(lags, 2)} s`,
    )
    const name = `${(backlogBytes / 1e6).toFixed(0)} MB backlog`
    return [
      lagFigure(`${name}: another job's output behind, worst`, lags),
      {
        what: `${name}: connections and heartbeats lost meanwhile`,
        value: lost,
        unit: '',
        digits: 0,
        reach: { value: 0, better: 'lower' },
        note: 'heartbeat of 1 s',
      },
      {
        what: `${name}: stored`,
        value: rate,
        unit: 'MB/s',
        digits: 1,
        reach: null,
        note: `half output, half events of 1 KB; job ended ${((ended - drained) / 1000).toFixed(1)} s after its last byte`,
      },
      memoryFigure('agent', agentPeak ?? 0, 250),
      memoryFigure('control plane', controlPlanePeak ?? 0, 400),
    ]
  } finally {
    await stored.close()
    await product.close()
  }
}

export function lagFigure(what: string, lags: readonly number[]): Figure {
  return {
    what,
    value: Math.max(...lags),
    unit: 's',
    digits: 2,
    reach: { value: 2, better: 'lower' },
    note: `median ${median(lags).toFixed(2)} s of ${lags.length} lines, seen by polling`,
  }
}

function memoryFigure(program: string, peak: number, most: number): Figure {
  return {
    what: `the same, peak resident memory of the ${program}`,
    value: peak,
    unit: 'MB',
    digits: 0,
    reach: { value: most, better: 'lower' },
    note: '',
  }
}

/** From a kill -9 of either program, started again at once, to the first line that a reader has of those written since. */
export async function measureRecovery(runs: number, say: Say): Promise<Figure[]> {
  const { product, launch } = await startSurvivalProduct()
  try {
    const live = await launch('live', { ...LIVE_LOAD, gates: [] })
    const lines = followLines(product, live.jobId)
    const restarts = {
      'control plane': async () => {
        await product.controlPlane.stop('SIGKILL')
        await product.startControlPlane()
      },
      agent: async () => {
        await product.agent.stop('SIGKILL')
        product.startAgent()
      },
    }
    const figures: Figure[] = []
    for (const [program, restart] of Object.entries(restarts)) {
      const seconds: number[] = []
      for (let run = 1; run <= runs; run += 1) {
        const begun = Date.now()
        await waitFor('live output', () => lines.firstAfter(begun))
        const killed = Date.now()
        await restart()
        const seen = await waitFor('output after the kill', () => lines.firstAfter(killed))
        seconds.push((seen - killed) / 1000)
      }
      say(`  kill -9 of the ${program}: ${range(seconds, 2)} s`)
      figures.push({
        what: `kill -9 of the ${program}, started at once, to output flowing`,
        value: median(seconds),
        unit: 's',
        digits: 2,
        reach: null,
        note: `${range(seconds, 2)}, ${runs} runs`,
      })
    }
    await lines.stop()
    return figures
  } finally {
    await product.close()
  }
}
