import type { PlanNode } from '../record/sequence-port.js'
import type { Course } from './course.js'
import { type Estimate, estimateFrom, isAnotherPlaybook, leftBy } from './estimate.js'
import { type RunProfile, tasksOf } from './run-profile.js'

/** The steps or nodes before a step or node. */
interface Placed {
  readonly identifier: string
  readonly parents: readonly string[]
  /** It starts after all of them, and not after the first one. */
  readonly needsAllParents: boolean
}

/** An ended job: the tasks of its playbook, or the steps or nodes of a parent job. */
export type EarlierRun =
  | { readonly kind: 'playbook'; readonly profile: RunProfile }
  | { readonly kind: 'sequence'; readonly nodes: readonly EarlierNode[] }

/** A step or node of a job that has ended. */
export interface EarlierNode extends Placed {
  /** `passed`: it ran, but its time does not count, such as an approval. Null: it did not run. */
  readonly run: EarlierRun | 'passed' | null
}

/** The state of a step or node. `toCome`: its job has not begun, or it has no job yet. */
export type NodeNow =
  | { readonly state: 'over' | 'toCome' | 'started' }
  | { readonly state: 'playbook'; readonly course: Course }
  | { readonly state: 'sequence'; readonly nodes: readonly CurrentNode[] }

/** A step or node of a running parent job. */
export interface CurrentNode extends Placed {
  readonly now: NodeNow
}

/** Adds to each node of a plan what comes before it. */
export function placedNodes<Node extends Pick<PlanNode, 'identifier' | 'links' | 'needsAllParents'>>(
  nodes: readonly Node[],
): (Node & Placed)[] {
  const parents = new Map<string, Set<string>>(nodes.map(({ identifier }) => [identifier, new Set()]))
  for (const { identifier, links } of nodes) {
    for (const next of Object.values(links).flat()) parents.get(next)?.add(identifier)
  }
  return nodes.map((node) => ({ ...node, parents: [...(parents.get(node.identifier) ?? [])] }))
}

/**
 * Estimates how much time is left for a parent job. It is the longest way through the remaining steps or nodes. Each of
 * them is expected to take the time that it took in an earlier run. A step or node that did not run then is not
 * expected to run now. The time in which jobs wait for a runner or for an approval does not count.
 * @param earlier jobs of the same form that succeeded, in any order
 * @param now milliseconds since the epoch
 * @returns null when there is nothing to estimate from
 */
export function estimateOfSequence(
  nodes: readonly CurrentNode[],
  earlier: readonly EarlierRun[],
  now: number,
): Estimate | null {
  if (!isKnown(nodes, earlier)) return null
  const lefts = earlier.map((run) => leftOfSequence(nodes, run, now))
  return estimateFrom(lefts, earlier.map(totalOf))
}

/** Whether an earlier run had everything that runs now, with mostly the same tasks. */
function isKnown(nodes: readonly CurrentNode[], earlier: readonly EarlierRun[]): boolean {
  return nodes.every(({ identifier, now }) => {
    if (now.state !== 'playbook' && now.state !== 'sequence') return true
    const runs = earlier.flatMap((run) => runOf(run, identifier) ?? [])
    if (now.state === 'sequence') {
      const same = runs.filter(({ kind }) => kind === 'sequence')
      return same.length > 0 && isKnown(now.nodes, same)
    }
    const profiles = runs.flatMap((run) => (run.kind === 'playbook' ? [run.profile] : []))
    return profiles.length > 0 && now.course.isComplete && !isAnotherPlaybook(profiles, now.course)
  })
}

/** A step or node in an earlier run; null: it took no time there. */
function runOf(run: EarlierRun, identifier: string): EarlierRun | null {
  const found = run.kind === 'sequence' ? run.nodes.find((node) => node.identifier === identifier)?.run : null
  return found === undefined || found === 'passed' ? null : found
}

function totalOf(run: EarlierRun): number {
  if (run.kind === 'playbook') return run.profile.reduce((sum, { ms }) => sum + ms, 0)
  return longestWay(
    run.nodes.map((node) => ({
      ...node,
      isStarted: false,
      ms: node.run === 'passed' ? 0 : node.run && totalOf(node.run),
    })),
  )
}

function leftOfSequence(nodes: readonly CurrentNode[], earlier: EarlierRun, now: number): number {
  const known = new Map(earlier.kind === 'sequence' ? earlier.nodes.map((node) => [node.identifier, node.run]) : [])
  return longestWay(
    nodes.map((node) => ({
      ...node,
      isStarted: node.now.state !== 'toCome',
      ms: leftOfNode(node.now, known.get(node.identifier) ?? null, now),
    })),
  )
}

/** In milliseconds; null: it has ended, or is not expected to run. */
function leftOfNode(node: NodeNow, run: EarlierNode['run'], now: number): number | null {
  if (node.state === 'over' || run === null) return null
  if (run === 'passed') return 0
  if (node.state === 'playbook' && run.kind === 'playbook') {
    return node.course.isFinished ? 0 : leftBy(run.profile, tasksOf(node.course), now)
  }
  return node.state === 'sequence' ? leftOfSequence(node.nodes, run, now) : totalOf(run)
}

interface WayNode extends Placed {
  /** Null: it has ended, or is not expected to run. */
  readonly ms: number | null
  /** It does not wait for other steps or nodes any more. */
  readonly isStarted: boolean
}

/** When the last of these nodes ends, if each starts as soon as it may. In milliseconds from now on. */
function longestWay(nodes: readonly WayNode[]): number {
  const ends = new Map<string, number>()
  for (const { identifier, parents, needsAllParents, ms, isStarted } of inOrder(nodes)) {
    if (ms === null) continue
    const before = isStarted ? [] : parents.flatMap((parent) => ends.get(parent) ?? [])
    const start = before.length === 0 ? 0 : needsAllParents ? Math.max(...before) : Math.min(...before)
    ends.set(identifier, start + ms)
  }
  return Math.max(0, ...ends.values())
}

/** The nodes in an order in which each node comes after its parents. Plans have no circles. */
function inOrder(nodes: readonly WayNode[]): WayNode[] {
  const open = new Map(nodes.map((node) => [node.identifier, node.parents.length]))
  const ordered = nodes.filter(({ parents }) => parents.length === 0)
  for (const { identifier } of ordered) {
    for (const node of nodes) {
      if (!node.parents.includes(identifier)) continue
      const left = (open.get(node.identifier) ?? 0) - 1
      open.set(node.identifier, left)
      if (left === 0) ordered.push(node)
    }
  }
  return ordered
}
