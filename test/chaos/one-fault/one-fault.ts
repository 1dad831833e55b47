import { type ChaosProduct, startChaos } from '../kit/chaos-product.js'
import { type ArmedFault, OPERATIONS, PROGRAMS } from '../kit/preload/faults.js'
import { type Chance, createChance } from '../kit/seed.js'
import { type Outcome, playScene } from './attempt.js'
import { type Keepers, keepBoth } from './keepers.js'
import type { OneFaultOptions } from './options.js'
import { type CallCounts, FIELDS, type FaultPoint, type Field, nameOf, pointsOf, ruleOf } from './points.js'

/** What all runs came to. */
interface Sum {
  runs: number
  met: number
  notStarted: number
  falseEnds: number
  killed: number
  neverEnded: number
  startedTwice: number
  different: number
}

/**
 * Fails one call after the other, each while one job goes through a scene, and judges how the job ended.
 * @returns the last line, and whether every job ended truly
 * @throws Error when it was interrupted or the product cannot be started
 */
export async function failOneByOne(
  options: OneFaultOptions,
  interrupted: AbortSignal,
  say: (line: string) => void,
): Promise<{ readonly line: string; readonly isExact: boolean }> {
  const chance = createChance(options.seed)
  const chaos = await startChaos({
    controlPlane: { ACCESS_TOKEN_EXPIRATION: '24h', JOBS_LIST_SIZE: '10000' },
    agent: { RTE_MAX_JOBS: '0', RTE_DRAIN_SECONDS: '0' },
  })
  const keepers = keepBoth(chaos.product)
  const sum: Sum = {
    runs: 0,
    met: 0,
    notStarted: 0,
    falseEnds: 0,
    killed: 0,
    neverEnded: 0,
    startedTwice: 0,
    different: 0,
  }
  let keeps = options.keep
  try {
    const all = await findPoints(chaos, keepers, options, say)
    const drawn = options.count === null ? all : shareOf(all, options.count, chance.fork('share'))
    const chosen = drawn.slice(options.skip)
    say(`${chosen.length} of ${all.length} faults`)
    for (const [at, point] of chosen.entries()) {
      if (interrupted.aborted) throw new Error('interrupted')
      const fault = { arm: () => chaos.faults.arm(ruleOf(point)), lastsMs: point.lastsMs, point }
      const { outcome, armed } = await playScene(chaos, keepers, point.scene, 1000 + at, fault)
      add(sum, outcome, armed)
      for (const problem of problemsOf(outcome)) say(`WRONG: ${nameOf(point)} (${armed.tally().last}): ${problem}`)
      await keepers.bothUp()
      if (at % 25 === 24) say(`${at + 1} of ${chosen.length}: ${wordsOf(sum)}`)
    }
    const isExact = isClean(sum)
    keeps ||= !isExact
    const ended = Object.entries(keepers.endedByItself).map(([program, count]) => `${program} ${count}`)
    const line =
      `one fault at a time: seed ${options.seed}: ${sum.runs} of ${all.length} faults, ${sum.met} met, ` +
      `${sum.notStarted} jobs not started and said so, ended by themselves (${ended.join(', ')}): ${wordsOf(sum)}`
    return { isExact, line }
  } catch (error) {
    keeps ||= !interrupted.aborted
    throw error
  } finally {
    keepers.close()
    if (keeps) say(`kept: ${chaos.product.folder}`)
    await chaos.close({ keep: keeps })
  }
}

/** So many faults, as many of each kind of call of each program as there are: most calls are reads of the database. */
function shareOf(all: readonly FaultPoint[], count: number, chance: Chance): FaultPoint[] {
  const kinds = new Map<string, FaultPoint[]>()
  for (const point of chance.shuffle(all)) {
    const kind = `${point.scene} ${point.victim} ${point.operation}`
    kinds.set(kind, [...(kinds.get(kind) ?? []), point])
  }
  const left = chance.shuffle([...kinds.values()])
  const share: FaultPoint[] = []
  while (share.length < Math.min(count, all.length)) {
    for (const points of left) {
      const point = points.pop()
      if (point && share.length < count) share.push(point)
    }
  }
  return share
}

/** Counts what each field calls, on jobs to which nothing happens. */
async function findPoints(
  chaos: ChaosProduct,
  keepers: Keepers,
  { programs, scenes, seed }: OneFaultOptions,
  say: (line: string) => void,
): Promise<FaultPoint[]> {
  const points: FaultPoint[] = []
  const wanted = FIELDS.filter(({ victim, scene }) => programs.has(victim) && scenes.has(scene))
  for (const [at, field] of wanted.entries()) {
    const counts = await countCalls(chaos, keepers, field, at)
    say(
      `${field.scene}, ${field.victim}: ${[...counts].map(([operation, count]) => `${operation} ${count}`).join(', ')}`,
    )
    points.push(...pointsOf(field, counts, createChance(seed).fork(`${field.scene} ${field.victim}`)))
  }
  return points
}

async function countCalls(chaos: ChaosProduct, keepers: Keepers, field: Field, number: number): Promise<CallCounts> {
  const counting: ArmedFault[] = []
  const armOne = (): ArmedFault => {
    for (const operation of OPERATIONS)
      counting.push(chaos.faults.arm({ operation, program: PROGRAMS[field.victim], path: field.path, action: 'none' }))
    const disarm = (): void => {
      for (const fault of counting) fault.disarm()
    }
    return { tally: () => ({ calls: 0, met: 0, last: '' }), wasMet: () => false, disarm }
  }
  const { outcome } = await playScene(chaos, keepers, field.scene, number, { arm: armOne, lastsMs: 0, point: null })
  const problems = problemsOf(outcome)
  if (problems.length > 0) throw new Error(`without any fault: ${problems.join('; ')}`)
  const counts = OPERATIONS.map((operation, at) => [operation, counting[at]?.tally().calls ?? 0] as const)
  return new Map(counts.filter(([, count]) => count > 0))
}

function add(sum: Sum, outcome: Outcome, armed: ArmedFault): void {
  sum.runs += 1
  sum.met += Number(armed.wasMet())
  sum.notStarted += Number(outcome.notStarted)
  sum.falseEnds += Number(outcome.falseEnds.length > 0)
  sum.killed += Number(outcome.killed)
  sum.neverEnded += Number(outcome.neverEnded)
  sum.startedTwice += Number(outcome.startedTwice)
  sum.different += Number(outcome.differences.length > 0)
}

function problemsOf(outcome: Outcome): string[] {
  return [
    ...outcome.falseEnds.map((said) => `false end: ${said}`),
    ...(outcome.killed ? ['its playbook was ended'] : []),
    ...(outcome.neverEnded ? ['it never ended'] : []),
    ...(outcome.startedTwice ? ['it was started twice'] : []),
    ...outcome.differences,
  ]
}

const isClean = ({ falseEnds, killed, neverEnded, startedTwice, different }: Sum): boolean =>
  falseEnds + killed + neverEnded + startedTwice + different === 0

const wordsOf = (sum: Sum): string =>
  `false ends ${sum.falseEnds}, killed by us ${sum.killed}, never ended ${sum.neverEnded}, ` +
  `started twice ${sum.startedTwice}, different ${sum.different}`
