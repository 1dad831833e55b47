import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { waitFor } from '../support/wait.js'
import { cpuSeconds, residentBytes } from './cpu.js'
import { followLines } from './live-lines.js'
import type { Figure } from './report.js'
import { openStoredReader } from './stored-lengths.js'
import { LIVE_LOAD, lagFigure, waitForStatus } from './survival.js'
import { type SurvivalProduct, startSurvivalProduct } from './survival-product.js'

type Say = (line: string) => void

const PROGRAM = join(import.meta.dirname, 'viewers-program.ts')
const VIEWERS = 200
/** Accounts of them: a session may have 20 streams open, an account 100. */
const ACCOUNTS = VIEWERS / 20
const LINES_PER_SECOND = 2000
const SECONDS = 20
/** What is not measured at the begin of a job, in milliseconds: programs start. */
const SETTLE_MS = 3000
const LINES = { perSecond: LINES_PER_SECOND, outputBytes: 100, eventBytes: 0, steps: LINES_PER_SECOND * SECONDS }

/** Viewers that read nothing, and the output that waits for each of them: more than the kernel takes for them. */
const IDLE = 50
const WAITING = { outputBytes: 1000, eventBytes: 0, steps: 50_000, gates: [50_001] }

/** What many viewers of one job cost: processors, other jobs' readers, and memory for those that do not read. */
export async function measureViewers(say: Say): Promise<Figure[]> {
  const survival = await startSurvivalProduct()
  const { product, launch } = survival
  try {
    const tokens: string[] = []
    for (let account = 0; account < ACCOUNTS; account += 1) {
      const username = `viewer${account}`
      await product.admin.post('/user', { username, password: ADMIN_PASSWORD, groups: ['admins'] })
      tokens.push((await signIn(product.address, username, ADMIN_PASSWORD)).token)
    }
    const alone = await coresDuring(survival, 'alone', async () => undefined)
    say(`  ${LINES_PER_SECOND} lines a second without viewers: ${alone.cores.toFixed(2)} cores`)

    const live = await launch('live', { ...LIVE_LOAD, gates: [] })
    const lines = followLines(product, live.jobId)
    const begin = Date.now()
    const watched = await coresDuring(survival, 'watched', (job) => startViewers(product, job, tokens, VIEWERS, 'read'))
    const lags = lines.lags(begin + SETTLE_MS, Date.now() - SETTLE_MS)
    await lines.stop()
    say(`  the same with ${VIEWERS} viewers: ${watched.cores.toFixed(2)} cores; all saw what was written`)

    const idleMib = await memoryOfIdle(survival, tokens)
    say(`  a viewer that does not read: ${idleMib.toFixed(2)} MiB`)
    const what = `${VIEWERS} viewers of ${LINES_PER_SECOND} lines a second`
    return [
      {
        what: `${what}: the control plane, in cores`,
        value: watched.cores,
        unit: '',
        digits: 2,
        reach: { value: 0.3, better: 'lower' },
        note: `without viewers ${alone.cores.toFixed(2)}; every viewer saw every byte`,
      },
      { ...lagFigure(`${what}: another job's output behind, worst`, lags), reach: { value: 1, better: 'lower' } },
      {
        what: 'a viewer that does not read: memory of the control plane',
        value: idleMib,
        unit: 'MiB',
        digits: 2,
        reach: { value: 1, better: 'lower' },
        note: `${IDLE} of them, with 50 MB of output that waits for each`,
      },
    ]
  } finally {
    await product.close()
  }
}

/** Cores that the control plane uses while a job writes, from some seconds after its begin on. */
async function coresDuring(
  { product, launch }: SurvivalProduct,
  name: string,
  watch: (jobId: number) => Promise<Viewers | undefined>,
): Promise<{ readonly cores: number }> {
  const { jobId, truth } = await launch(name, LINES)
  const viewers = await watch(jobId)
  try {
    await pause(SETTLE_MS)
    const [from, before] = [performance.now(), cpuSeconds(product.controlPlane.pid)]
    await waitFor('the job to be written', () => truth.finished(), { timeoutMs: 10 * SECONDS * 1000, everyMs: 50 })
    const cores = (cpuSeconds(product.controlPlane.pid) - before) / ((performance.now() - from) / 1000)
    const status = await waitForStatus(product, jobId)
    if (status !== 'success') throw new Error(`the job ${name} ended ${status}`)
    const written = createHash('sha256').update(readFileSync(truth.outputPath)).digest('hex')
    const seen = await viewers?.digests()
    if (seen && (seen.length !== 1 || seen[0] !== written))
      throw new Error('a viewer saw something else than was written')
    return { cores }
  } finally {
    viewers?.close()
  }
}

/** Resident memory that one viewer takes who does not read, in MiB. */
async function memoryOfIdle({ product, launch }: SurvivalProduct, tokens: readonly string[]): Promise<number> {
  const stored = await openStoredReader(product)
  const { jobId, truth } = await launch('waiting', WAITING)
  try {
    const written = WAITING.steps * WAITING.outputBytes
    await waitFor('the output to be stored', async () => (await stored.read(jobId)).bytes >= written, {
      timeoutMs: 120_000,
    })
    await pause(SETTLE_MS)
    const before = residentBytes(product.controlPlane.pid)
    const viewers = await startViewers(product, jobId, tokens, IDLE, 'idle')
    try {
      await pause(2 * SETTLE_MS)
      return (residentBytes(product.controlPlane.pid) - before) / IDLE / 2 ** 20
    } finally {
      viewers.close()
    }
  } finally {
    truth.openGate(WAITING.steps + 1)
    await stored.close()
  }
}

/** The process of the viewers. */
interface Viewers {
  /** The different outputs that they saw. Waits for the end of all. */
  digests(): Promise<readonly string[]>
  close(): void
}

/** Starts viewers, and waits until all of them have an answer. */
async function startViewers(
  product: Product,
  jobId: number,
  tokens: readonly string[],
  count: number,
  manner: 'read' | 'idle',
): Promise<Viewers> {
  const args = ['--import', 'tsx', PROGRAM, product.address, String(jobId), tokens.join(','), String(count), manner]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  if (!child.stdout) throw new Error('the process of the viewers has no standard output')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the process of the viewers has ended')
    return String(value)
  }
  await next()
  return { digests: async () => JSON.parse(await next()) as string[], close: () => void child.kill() }
}
