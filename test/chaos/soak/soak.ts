import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '../../support/wait.js'
import { startPostgres } from '../../support/postgres.js'
import type { ProductOptions } from '../../support/product.js'
import { startSeveral } from '../../nodes/several.js'
import { type ChaosProduct, startChaos } from '../kit/chaos-product.js'
import { createChance } from '../kit/seed.js'
import type { FaultKind, Harm } from './fault-kind.js'
import { faultKinds } from './faults.js'
import { injectFaults } from './injector.js'
import { type SoakUsers, createUsers, isFinal } from './jobs.js'
import { startKeeper } from './keeper.js'
import { watchLives } from './lives.js'
import { nodeFaults, serverFaults } from './node-faults.js'
import type { SoakOptions } from './options.js'
import { soakFiles } from './playbooks.js'
import { openNamespaces } from './namespaces.js'
import { lastLine } from './report.js'
import { letIn } from './runner-faults.js'
import { judgeAll } from './verdict.js'

const PROGRESS_MS = 10_000
/** After the faults: until every job has come to its real end. Far beyond any machine's slowness. */
const SETTLE_MS = 600_000

/** Where the soak says what it does, line by line. */
type Say = (line: string) => void

/**
 * Runs jobs under faults, mends everything, and compares.
 * @param interrupted ends it early; whatever runs is ended then, too
 * @returns the last line, and whether nothing was lost, doubled or wrong
 * @throws Error when it was interrupted, or when jobs did not come to their ends
 */
export async function soak(
  options: SoakOptions,
  interrupted: AbortSignal,
  say: Say,
): Promise<{ readonly line: string; readonly isExact: boolean }> {
  const { minutes, seed, keep, database, nodes } = options
  const chance = createChance(seed)
  const where = `--database ${database} --nodes ${nodes}`
  say(`seed ${seed}; the same again: ./scripts/chaos --minutes ${minutes} --seed ${seed} ${where}`)
  const { chaos, kinds, ready, closeDatabase } = await setUp(options)
  const { product, proxy, faults } = chaos
  const keeper = startKeeper(product.folder)
  const namespaces = openNamespaces(product.folder)
  if (namespaces === null) say('without PID namespaces: this machine does not let them be made')
  const lives = watchLives(product, chance.fork('lives'), namespaces)
  const users = createUsers(chaos, chance.fork('users'))
  const harmed = new Map<number, Harm>()
  const noteHarm = (jobId: number, harm: Harm): void => {
    if (harmed.get(jobId) !== 'supervisor killed') harmed.set(jobId, harm)
  }
  const counts = new Map<string, number>()
  const startedAt = Date.now()
  const progress = setInterval(() => {
    const injected = [...counts.values()].reduce((sum, count) => sum + count, 0)
    say(
      `${Math.round((Date.now() - startedAt) / 1000)} s: ${injected} faults, ${users.abandoned.size} jobs were abandoned`,
    )
  }, PROGRESS_MS)
  const run = async () => {
    const faultsOver = new AbortController()
    const endFaults = (): void => faultsOver.abort()
    // A timer of our own: a signal of AbortSignal.timeout may be collected before its time is over.
    const timer = setTimeout(endFaults, minutes * 60_000)
    interrupted.addEventListener('abort', endFaults, { once: true })
    const over = faultsOver.signal
    const [injected] = await Promise.all([
      injectFaults(kinds, { chaos, lives, harmed: noteHarm }, chance.fork('faults'), over, counts),
      users.launchUntil(over),
    ])
    clearTimeout(timer)
    for (const miss of injected.missed) say(`not injected: ${miss}`)
    faults.disarmAll()
    proxy.hold(false)
    lives.calm()
    say('everything is mended; waiting for the real end of every job')
    ready()
    await letIn({ chaos, lives, chance, harmed: () => undefined })
    // What is still open then is said job by job.
    await allSettled(users, join(product.folder, 'rte-state/spool/jobs')).catch((error: unknown) => {
      if (interrupted.aborted) throw error
      say(`WRONG: ${String(error)}`)
    })
    await lives.close()
    const verdict = await judgeAll(chaos, users, keeper, harmed, say)
    for (const problem of verdict.problems) say(`WRONG: ${problem}`)
    const isExact = verdict.lost === 0 && verdict.doubled === 0 && verdict.wrong === 0
    return { isExact, line: lastLine(options, verdict, injected.counts, lives.restarts) }
  }

  let keeps = true
  try {
    const interruption = once(interrupted, 'abort').then(() => {
      keeps = keep
      throw new Error('interrupted')
    })
    const result = await Promise.race([run(), interruption])
    keeps = keep || !result.isExact
    return result
  } finally {
    clearInterval(progress)
    keeper.close()
    await lives.close()
    namespaces?.close()
    if (keeps) say(`kept: ${product.folder}`)
    await chaos.close({ keep: keeps })
    await closeDatabase()
  }
}

/** The product on its database, and all that can befall it. `ready` leads the runner to a node that runs. */
async function setUp({ database, nodes }: SoakOptions): Promise<{
  readonly chaos: ChaosProduct
  readonly kinds: readonly FaultKind[]
  readonly ready: () => void
  readonly closeDatabase: () => Promise<void>
}> {
  const product: ProductOptions = {
    ...soakFiles(),
    controlPlane: { RTE_LOST_SECONDS: '3', ACCESS_TOKEN_EXPIRATION: '24h', JOBS_LIST_SIZE: '10000' },
    agent: { RTE_DRAIN_SECONDS: '1' },
  }
  if (database === 'sqlite') {
    const chaos = await startChaos(product)
    return { chaos, kinds: faultKinds(true), ready: () => undefined, closeDatabase: () => Promise.resolve() }
  }
  const server = await startPostgres()
  try {
    const several = await startSeveral(nodes, { ...product, database: server })
    const more = nodes > 1 ? nodeFaults(several) : []
    const kinds = [...faultKinds(false), ...serverFaults(server, several), ...more]
    const ready = (): void => {
      const [first] = several.nodes
      if (first) several.steerTo(first)
    }
    return { chaos: several.chaos, kinds, ready, closeDatabase: () => server.close() }
  } catch (error) {
    await server.close()
    throw error
  }
}

/** Every job has its real end, and the runner has forgotten all of them. */
async function allSettled(users: SoakUsers, spool: string): Promise<void> {
  await waitFor(
    'every job to come to its real end, and the spool to be empty',
    async () => {
      const records = await users.look()
      if (!records) throw new Error('the control plane does not answer')
      const open = records.filter(({ status }) => !isFinal(status))
      if (open.length > 0) throw new Error(`still open: ${open.map(({ id, status }) => `${id} ${status}`).join(', ')}`)
      const spooled = readdirSync(spool)
      if (spooled.length > 0) throw new Error(`still in the spool: ${spooled.join(', ')}`)
      return true
    },
    { everyMs: 250, timeoutMs: SETTLE_MS },
  )
}
