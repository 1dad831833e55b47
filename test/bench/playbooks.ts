import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Product } from '../support/product.js'
import { waitFor } from '../support/wait.js'
import { runBare } from './bare.js'
import { cpuSeconds } from './cpu.js'
import { INVENTORIES } from './fixtures.js'
import type { Figure } from './report.js'
import { median, range } from './statistics.js'

type Say = (line: string) => void

interface Summary {
  readonly id: number
  readonly status: string
  readonly status_reason: string | null
  readonly start: string
  readonly end: string | null
}

/** Waits for the end of a job by its list record: unlike reading the job, that costs the same however long its output. */
async function ended(product: Product, jobId: number, everyMs: number): Promise<Summary> {
  const job = await waitFor(
    `job ${jobId} to end`,
    async () => {
      const { records } = await product.admin.get<{ records: Summary[] }>('/job?records=200')
      return records.find((record) => record.id === jobId && record.status !== 'running')
    },
    { everyMs, timeoutMs: 600_000 },
  )
  if (job.status !== 'success') throw new Error(`job ${jobId} ended ${job.status}: ${job.status_reason ?? ''}`)
  return job
}

const runReference = (folder: string) =>
  runBare('ansible-playbook', ['-i', INVENTORIES['big.yml'], 'big.yml'], folder, join(folder, 'out'))

/** Whole-system CPU and wall time of the 2,000-result playbook, next to bare ansible-playbook, run by turns. */
export async function measureOverhead(product: Product, folder: string, runs: number, say: Say): Promise<Figure[]> {
  const cpuRatios: number[] = []
  const wallRatios: number[] = []
  const bareCpu: number[] = []
  const bareWall: number[] = []
  const runProduct = async () => {
    const processes = [product.controlPlane.pid, product.agent.pid]
    const before = processes.map(cpuSeconds)
    const job = await ended(product, await product.launch('big'), 500)
    const after = processes.map(cpuSeconds)
    const cpu = after.reduce((sum, value, index) => sum + value - (before[index] ?? 0), 0)
    return { cpu, wall: (Date.parse(job.end ?? '') - Date.parse(job.start)) / 1000 }
  }
  for (let run = 1; run <= runs; run += 1) {
    // By turns, and in changing order, so that a machine that slows down or warms up favours neither.
    const first = run % 2 === 0 ? await runProduct() : null
    const bare = await runReference(folder)
    const ours = first ?? (await runProduct())
    cpuRatios.push(ours.cpu / bare.cpuSeconds)
    wallRatios.push(ours.wall / bare.wallSeconds)
    bareCpu.push(bare.cpuSeconds)
    bareWall.push(bare.wallSeconds)
    say(
      `  run ${run}/${runs}: bare ${bare.wallSeconds.toFixed(1)} s, ${bare.cpuSeconds.toFixed(1)} CPU s; product x ${(ours.wall / bare.wallSeconds).toFixed(3)} wall, x ${(ours.cpu / bare.cpuSeconds).toFixed(3)} CPU`,
    )
  }
  return [
    {
      what: '2,000 results: CPU, product / bare',
      value: median(cpuRatios),
      unit: 'x',
      digits: 3,
      reach: { value: 1.08, better: 'lower' },
      note: `${range(cpuRatios, 3)}; bare ${median(bareCpu).toFixed(1)} s`,
    },
    {
      what: '2,000 results: wall, product / bare',
      value: median(wallRatios),
      unit: 'x',
      digits: 3,
      reach: { value: 1.05, better: 'lower' },
      note: `${range(wallRatios, 3)}; bare ${median(bareWall).toFixed(1)} s`,
    },
  ]
}

/** The same playbook through ansible-runner, where that is installed; empty where it is not. */
export async function measureAnsibleRunner(folder: string, runs: number, say: Say): Promise<Figure[]> {
  const program = 'ansible-runner'
  const found = (process.env.PATH ?? '').split(':').some((path) => existsSync(join(path, program)))
  if (!found) {
    say('  ansible-runner is not installed: left out')
    return []
  }
  const cpu: number[] = []
  const wall: number[] = []
  for (let run = 1; run <= runs; run += 1) {
    const bare = await runReference(folder)
    const other = await runBare(program, ['run', folder, '-p', 'big.yml'], folder, join(folder, 'out'))
    cpu.push(other.cpuSeconds / bare.cpuSeconds)
    wall.push(other.wallSeconds / bare.wallSeconds)
  }
  const shown = { unit: 'x', digits: 3, reach: null } as const
  return [
    { what: '2,000 results: CPU, ansible-runner / bare', value: median(cpu), note: range(cpu, 3), ...shown },
    { what: '2,000 results: wall, ansible-runner / bare', value: median(wall), note: range(wall, 3), ...shown },
  ]
}

/** Launch to first output and to the final status of a hello playbook, seen by a 10 ms poll, next to a bare run. */
export async function measureLatency(product: Product, folder: string, runs: number, say: Say): Promise<Figure[]> {
  const toStatus: number[] = []
  const toOutput: number[] = []
  const bareRuns: number[] = []
  const differences: number[] = []
  for (let run = 1; run <= runs; run += 1) {
    const bare =
      (await runBare('ansible-playbook', ['-i', INVENTORIES['hello.yml'], 'hello.yml'], folder, join(folder, 'out')))
        .wallSeconds * 1000
    const start = performance.now()
    await ended(product, await product.launch('hello'), 10)
    const status = performance.now() - start
    const again = performance.now()
    const jobId = await product.launch('hello')
    await waitFor('the first output', async () => (await product.admin.raw(`/job/${jobId}/output`)).bytes.length > 0, {
      everyMs: 10,
    })
    toOutput.push(performance.now() - again)
    await ended(product, jobId, 10)
    bareRuns.push(bare)
    toStatus.push(status)
    differences.push(status - bare)
  }
  say(
    `  bare ${median(bareRuns).toFixed(0)} ms, launch to status ${median(toStatus).toFixed(0)} ms, to first output ${median(toOutput).toFixed(0)} ms`,
  )
  return [
    {
      what: 'hello: launch to final status, minus bare run',
      value: median(differences),
      unit: 'ms',
      digits: 0,
      reach: { value: 90, better: 'lower' },
      note: `${range(differences, 0)}; bare ${median(bareRuns).toFixed(0)} ms`,
    },
    {
      what: 'hello: launch to final status / bare run',
      value: median(toStatus) / median(bareRuns),
      unit: 'x',
      digits: 2,
      reach: null,
      note: `${median(toStatus).toFixed(0)} ms`,
    },
    {
      what: 'hello: launch to first output / bare run',
      value: median(toOutput) / median(bareRuns),
      unit: 'x',
      digits: 2,
      reach: null,
      note: `${median(toOutput).toFixed(0)} ms`,
    },
  ]
}

/** A hundred launches at once: the slowest answer, and that every job ends. */
export async function measureBurst(product: Product, launches: number, say: Say): Promise<Figure[]> {
  const start = performance.now()
  const answered = await Promise.all(
    Array.from({ length: launches }, async () => {
      const id = await product.launch('hello')
      return { id, afterMs: performance.now() - start }
    }),
  )
  const slowest = Math.max(...answered.map((answer) => answer.afterMs))
  for (const { id } of answered) await ended(product, id, 200)
  const all = (performance.now() - start) / 1000
  say(`  ${launches} launches answered within ${slowest.toFixed(0)} ms, all ended after ${all.toFixed(1)} s`)
  return [
    {
      what: `${launches} launches at once: slowest answer`,
      value: slowest / 1000,
      unit: 's',
      digits: 2,
      reach: { value: 1, better: 'lower' },
      note: `all ${launches} ended success after ${all.toFixed(0)} s`,
    },
  ]
}
