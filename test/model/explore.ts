import { agentMoves } from './agent-moves.js'
import { hostMoves } from './host-moves.js'
import { brokenRules, isSettled } from './rules.js'
import { serviceMoves } from './service-moves.js'
import { type AgentJob, type Move, type OldFault, type World, freshWorld } from './world.js'

/** A way into a world that breaks a rule. */
export interface CounterExample {
  readonly rule: string
  /** The moves, in order, from the launch on. */
  readonly moves: readonly string[]
}

export interface Exploration {
  readonly worlds: number
  readonly counterExample: CounterExample | null
}

/** Where a world was come from. */
interface Visit {
  readonly world: World
  readonly from: Visit | null
  readonly name: string
}

/**
 * Goes through every world that so many faults and wishes lead to, in every order (breadth first, so that a counter-example
 * is a shortest one). From each of them the job must still come to its end when nothing fails any more.
 * @param faults how many faults and wishes of people in one life of a job
 * @param old faults of older releases that are put back
 */
export function explore(faults: number, old: ReadonlySet<OldFault> = new Set()): Exploration {
  const seen = new Map<string, Visit>()
  let layer: Visit[] = []
  const enter = (world: World, from: Visit | null, name: string): void => {
    const key = keyOf(world)
    if (seen.has(key)) return
    const visit = { world, from, name }
    seen.set(key, visit)
    layer.push(visit)
  }
  enter(freshWorld(faults), null, 'launch')
  while (layer.length > 0) {
    const visits = layer
    layer = []
    for (const visit of visits) {
      const [rule] = brokenRules(visit.world)
      if (rule !== undefined)
        return {
          worlds: seen.size,
          counterExample: { rule, moves: wayTo(visit) },
        }
      for (const { name, world } of movesIn(visit.world, old)) enter(world, visit, name)
    }
  }
  return {
    worlds: seen.size,
    counterExample: findEndless([...seen.values()], old),
  }
}

function movesIn(world: World, old: ReadonlySet<OldFault>): Move[] {
  const moves = [...agentMoves(world, old), ...hostMoves(world), ...serviceMoves(world, old)]
  return moves.filter((move) => move.world.budget >= 0)
}

/**
 * The first world in which the job cannot come to its end although nothing fails any more. Where an end stays within reach
 * of every world that follows, whoever moves, it comes: all that moves by itself moves sooner or later.
 */
function findEndless(visits: readonly Visit[], old: ReadonlySet<OldFault>): CounterExample | null {
  const { ends, before } = calmWorlds(visits, old)
  const settling = new Set(ends)
  for (const key of settling) for (const earlier of before.get(key) ?? []) settling.add(earlier)
  const endless = visits.find(({ world }) => !settling.has(keyOf(calmed(world))))
  if (!endless) return null
  return {
    rule: 'the job never ends, although nothing fails any more',
    moves: wayTo(endless),
  }
}

const calmed = (world: World): World => ({ ...world, budget: 0 })

/** Every world that follows without a fault: in which of them the job has ended, and from where each is reached. */
function calmWorlds(
  visits: readonly Visit[],
  old: ReadonlySet<OldFault>,
): { readonly ends: string[]; readonly before: ReadonlyMap<string, string[]> } {
  const before = new Map<string, string[]>()
  const ends: string[] = []
  const open: World[] = []
  const enter = (world: World): string => {
    const key = keyOf(world)
    if (!before.has(key)) {
      before.set(key, [])
      open.push(world)
    }
    return key
  }
  for (const { world } of visits) enter(calmed(world))
  for (let world = open.pop(); world !== undefined; world = open.pop()) {
    const key = keyOf(world)
    if (isSettled(world)) ends.push(key)
    else for (const { world: next } of movesIn(world, old)) before.get(enter(next))?.push(key)
  }
  return { ends, before }
}

/** Two worlds with the same key go on alike. Written by hand: it is most of the work. */
function keyOf({ budget, service, row, runner, isLinked, agent, host, truth }: World): string {
  const { marks } = host
  return [
    budget,
    service,
    row && Object.values(row).join(),
    runner,
    isLinked,
    agent && `${agent.isOffered} ${agent.job && keyOfJob(agent.job)}`,
    host.boot,
    host.folder,
    host.coming.join(),
    host.supervisor,
    host.isOwn,
    host.playbook,
    marks.started,
    marks.startedIn,
    marks.hasAbort,
    marks.isForced,
    marks.exit,
    marks.end?.cause,
    Object.values(truth).join(),
  ].join('|')
}

function keyOfJob({ before, abort, unstarted, pending, end, ...rest }: AgentJob): string {
  const facts =
    before &&
    Object.values(before).map((fact: string | { kind: string } | null) =>
      fact === null || typeof fact === 'string' ? fact : fact.kind,
    )
  const asked = abort && [abort.askedMs, abort.toldMs, abort.forced?.supervisor, abort.forced?.ms]
  const step =
    pending &&
    `${pending.do} ${'end' in pending ? pending.end.cause : ''} ${'supervisor' in pending && pending.supervisor}`
  return [facts, asked, unstarted?.cause, step, end?.cause, ...Object.values(rest)].join()
}

function wayTo(visit: Visit): string[] {
  const names: string[] = []
  for (let at: Visit | null = visit; at !== null; at = at.from) names.unshift(at.name)
  return names
}
