import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startPostgres } from '../support/postgres.js'
import { type Node, type SeveralNodes, startSeveral } from '../nodes/several.js'
import { type ChaosJob, expectExactAndGone, launchEmitted, launchPlaybook } from './kit/jobs.js'
import { type Chance, seeded } from './kit/seed.js'

const FILE = 'test/chaos/nodes.test.ts'
const PATIENCE_MS = 600_000
/** A few in the usual run; by hand as many as one likes. */
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 3)
/** The names by which a node's connections to the database are known there. */
const CONNECTIONS = ['holdfast notifications', 'holdfast'] as const

/** What happens in a round; each leaves at least one node. */
const FAULTS = {
  'kill -9 of the node that has the runner': (several, chance) => replace(several, chance, several.dialled, 'SIGKILL'),
  'kill -9 of another node': (several, chance) => replace(several, chance, otherThan(several, chance), 'SIGKILL'),
  'stop of the node that has the runner': (several, chance) => replace(several, chance, several.dialled, 'SIGTERM'),
  'the node that has the runner hangs, and comes back when another one has it': async (several, chance) => {
    const { program } = several.dialled
    process.kill(program.pid, 'SIGSTOP')
    try {
      several.steerTo(otherThan(several, chance))
      several.chaos.proxy.cut()
      await pause(chance.between(500, 3000))
    } finally {
      process.kill(program.pid, 'SIGCONT')
    }
  },
  'the runner is led to another node, beside its old connection': async (several, chance) => {
    several.steerTo(otherThan(several, chance))
    several.chaos.proxy.halfOpen('control plane')
  },
  'the runner is cut off and led to another node': async (several, chance) => {
    several.steerTo(otherThan(several, chance))
    several.chaos.proxy.cut()
  },
  'connections to the database break': async (several, chance) => {
    await several.cutDatabase(chance.pick(CONNECTIONS))
  },
} satisfies Record<string, (several: SeveralNodes, chance: Chance) => Promise<void>>

function otherThan({ nodes, dialled }: SeveralNodes, chance: Chance): Node {
  return chance.pick(nodes.filter((node) => node !== dialled))
}

async function replace(several: SeveralNodes, chance: Chance, node: Node, signal: NodeJS.Signals): Promise<void> {
  await several.end(node, signal)
  await pause(chance.between(0, 1500))
  await several.add()
}

/** A launch that is refused because the database cannot be read at that moment has launched nothing. */
async function launched(launch: () => Promise<ChaosJob>): Promise<ChaosJob> {
  for (;;) {
    try {
      return await launch()
    } catch (error) {
      if (!String(error).includes('The database is not available now')) throw error
      await pause(50)
    }
  }
}

const ALL = 'while jobs are launched at any node and stream, and nodes, sockets and connections fail: all are exact'
test(
  ALL,
  seeded(FILE, ALL, async (chance) => {
    const several = await startSeveral(3, { agent: { RTE_DRAIN_SECONDS: '0', RTE_MAX_JOBS: '0' } })
    try {
      const jobs: ChaosJob[] = []
      const left = chance.shuffle(Object.entries(FAULTS))
      for (let round = 0; round < ROUNDS; round += 1) {
        several.askAt(chance.pick(several.nodes))
        jobs.push(await launched(() => launchEmitted(several.chaos, chance)))
        if (round % 3 === 0) jobs.push(await launched(() => launchPlaybook(several.chaos)))
        for (const job of jobs.slice(-2)) await job.keep()
        const [what, fail] = left[round % left.length] ?? chance.pick(Object.entries(FAULTS))
        if (process.env.CHAOS_ROUNDS) console.info(`round ${round}: ${what}`)
        jobs[chance.between(0, jobs.length - 1)]?.openGate()
        await pause(chance.between(0, 400))
        await fail(several, chance)
        jobs[chance.between(0, jobs.length - 1)]?.openGate()
      }
      for (const job of jobs) job.openGate()
      several.askAt(chance.pick(several.nodes))
      await expectExactAndGone(several.chaos, jobs)
      expect(jobs.length).toBeGreaterThanOrEqual(ROUNDS)
    } finally {
      await several.close()
    }
  }),
  PATIENCE_MS,
)

const SERVER = 'kill -9 of the database server while two nodes store what jobs print: all are exact'
test(
  SERVER,
  seeded(FILE, SERVER, async (chance) => {
    const server = await startPostgres()
    try {
      const several = await startSeveral(2, { database: server, agent: { RTE_DRAIN_SECONDS: '0' } })
      try {
        const jobs: ChaosJob[] = []
        for (const node of several.nodes) {
          several.askAt(node)
          jobs.push(await launchEmitted(several.chaos, chance), await launchEmitted(several.chaos, chance))
        }
        for (const job of jobs) await job.keep()
        for (let kills = 0; kills < 2; kills += 1) {
          for (const job of jobs.slice(2 * kills, 2 * kills + 2)) job.openGate()
          await pause(chance.between(0, 500))
          await server.kill()
          await pause(chance.between(0, 1000))
          await server.start()
        }
        await expectExactAndGone(several.chaos, jobs)
      } finally {
        await several.close()
      }
    } finally {
      await server.close()
    }
  }),
  PATIENCE_MS,
)
