import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Course } from '../../../control-plane/src/jobs/course/course.js'
import {
  type CurrentNode,
  type EarlierNode,
  type EarlierRun,
  type NodeNow,
  estimateOfSequence,
  placedNodes,
} from '../../../control-plane/src/jobs/course/sequence-estimate.js'
import { profileOf } from '../../../control-plane/src/jobs/course/run-profile.js'
import { type RunTask, runEvents } from '../../support/run-events.js'

const START = Date.parse('2026-01-01T00:00:00Z')

/** The course of a run with these tasks. @param most only so many of its events have come; all when left out */
function courseOf(tasks: readonly RunTask[], most?: number): Course {
  const course = new Course()
  for (const { order, ...event } of runEvents(tasks).slice(0, most)) {
    const { type, play, task, host, time } = event as Readonly<Record<string, unknown>> as Readonly<
      Record<'type' | 'play' | 'task' | 'host' | 'time', string>
    >
    course.take({ position: order, type, play, task, host, time, line: Buffer.from(JSON.stringify(event)) })
  }
  return course
}

/** A playbook with one task that takes so many seconds. */
const task = (seconds: number): RunTask[] => [{ name: 'the task', at: 0, hosts: { web1: ['ok', seconds] } }]
const ran = (seconds: number): EarlierRun => ({ kind: 'playbook', profile: profileOf(courseOf(task(seconds))) })
/** Its task has begun and has no result. */
const runs = (): NodeNow => ({ state: 'playbook', course: courseOf(task(60), 3) })

type Links = Partial<Record<'success' | 'failure' | 'always', string[]>>
/** The graph: what follows each node. */
const graph = (nodes: Readonly<Record<string, Links & { readonly all?: boolean }>>) =>
  placedNodes(
    Object.entries(nodes).map(([identifier, { all = false, success = [], failure = [], always = [] }]) => {
      return { identifier, needsAllParents: all, links: { success, failure, always } }
    }),
  )
const earlier = (nodes: ReturnType<typeof graph>, what: Readonly<Record<string, EarlierNode['run']>>): EarlierRun => ({
  kind: 'sequence',
  nodes: nodes.map((node) => ({ ...node, run: what[node.identifier] ?? null })),
})
const current = (nodes: ReturnType<typeof graph>, now: Readonly<Record<string, NodeNow>>): CurrentNode[] =>
  nodes.map((node) => ({ ...node, now: now[node.identifier] ?? { state: 'toCome' } }))

const CHAIN = graph({ one: { success: ['two'] }, two: { success: ['three'] }, three: {} })
const OVER: NodeNow = { state: 'over' }

describe('the time left of a parent job', () => {
  test('is the rest of the running step, and all remaining steps', () => {
    const before = earlier(CHAIN, { one: ran(10), two: ran(60), three: ran(30) })
    const slower = earlier(CHAIN, { one: ran(10), two: ran(60), three: ran(50) })
    const begun = current(CHAIN, { one: OVER, two: runs() })
    expect(estimateOfSequence(begun, [before, slower], START + 20_000)).toMatchObject({
      leftMs: 80_000,
      shortestMs: 70_000,
      longestMs: 90_000,
      runs: 2,
    })
    expect(estimateOfSequence(begun, [before], START + 20_000)?.progress).toBeCloseTo(0.3)
    const last = current(CHAIN, { one: OVER, two: OVER })
    expect(estimateOfSequence(last, [before], START)).toMatchObject({ leftMs: 30_000 })
  })

  test('is that of the longest way if nodes run at the same time', () => {
    const nodes = graph({ a: { success: ['end'] }, b: { success: ['end'] }, end: { all: true } })
    const before = earlier(nodes, { a: ran(10), b: ran(100), end: ran(5) })
    expect(estimateOfSequence(current(nodes, {}), [before], START)).toMatchObject({ leftMs: 105_000, progress: 0 })
    // A node that waits for the first one only starts earlier.
    const first = graph({ a: { success: ['end'] }, b: { success: ['end'] }, end: {} })
    expect(
      estimateOfSequence(current(first, {}), [earlier(first, { a: ran(10), b: ran(100), end: ran(95) })], START),
    ).toMatchObject({ leftMs: 105_000 })
  })

  test('leaves out approvals, and steps that did not run before', () => {
    const nodes = graph({ a: { success: ['ask'], failure: ['tell'] }, ask: { success: ['live'] }, live: {}, tell: {} })
    const before = earlier(nodes, { a: ran(10), ask: 'passed', live: ran(20) })
    expect(estimateOfSequence(current(nodes, {}), [before], START)).toMatchObject({ leftMs: 30_000 })
    expect(estimateOfSequence(current(nodes, { a: OVER }), [before], START)).toMatchObject({ leftMs: 20_000 })
  })

  test('includes nodes that are parent jobs', () => {
    const nodes = graph({ inner: { success: ['end'] }, end: {} })
    const before = earlier(nodes, { inner: earlier(CHAIN, { one: ran(1), two: ran(60), three: ran(4) }), end: ran(5) })
    expect(estimateOfSequence(current(nodes, {}), [before], START)).toMatchObject({ leftMs: 70_000 })
    const inside: NodeNow = { state: 'sequence', nodes: current(CHAIN, { one: OVER, two: runs() }) }
    expect(estimateOfSequence(current(nodes, { inner: inside }), [before], START + 10_000)).toMatchObject({
      leftMs: 59_000,
    })
  })

  test('is unknown if there is nothing to estimate from', () => {
    const nodes = current(CHAIN, { one: runs() })
    expect(estimateOfSequence(nodes, [], START)).toBeNull()
    expect(estimateOfSequence(nodes, [earlier(CHAIN, { two: ran(60) })], START)).toBeNull()
    expect(estimateOfSequence(nodes, [earlier(CHAIN, { one: ran(0), two: ran(0) })], START)).toBeNull()
  })

  test('never grows while steps succeed, whatever time they took before', () => {
    const times = fc.tuple(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 90 }), fc.nat(90))
    fc.assert(
      fc.property(
        fc.array(times, { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat(120), { maxLength: 8 }),
        (all, at) => {
          const before = all.map(([one, two, three]) =>
            earlier(CHAIN, { one: ran(one), two: ran(two), three: ran(three) }),
          )
          const stands = [
            current(CHAIN, { one: { state: 'started' } }),
            ...at
              .toSorted((one, other) => one - other)
              .map((seconds) => ({ seconds, nodes: current(CHAIN, { one: runs() }) })),
            current(CHAIN, { one: OVER }),
            current(CHAIN, { one: OVER, two: OVER }),
            current(CHAIN, { one: OVER, two: OVER, three: OVER }),
          ].map((stand) => ('nodes' in stand ? stand : { seconds: 0, nodes: stand }))
          const lefts = stands.map(
            ({ nodes, seconds }) => estimateOfSequence(nodes, before, START + seconds * 1000)?.leftMs,
          )
          expect(lefts.every((left, index) => index === 0 || (left ?? 0) <= (lefts[index - 1] ?? 0))).toBe(true)
          expect(lefts.at(-1)).toBe(0)
        },
      ),
      { numRuns: 100 },
    )
  })
})
