import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WorkflowNode } from '../../../control-plane/src/sequences/workflows/workflow.js'
import { type Outcome, Run, approval, playbook } from './graph.js'
import { covers } from '../../interface/covers.js'

const success = { status: 'success', reason: null }

describe('links', () => {
  it('roots start at once, in the order of the file, and branches run at the same time', () => {
    const run = new Run([playbook('a', { success: ['c'] }), playbook('b'), playbook('c')]).advance()
    expect(run.started).toEqual(['a', 'b'])
    expect(run.end('a', 'success').advance().started).toEqual(['a', 'b', 'c'])
    run.end('b', 'success').end('c', 'success').advance()
    expect(run.decision.end).toEqual(success)
  })

  it.each([
    ['success', { onSuccess: 'running', onFailure: 'do not run', onEither: 'running' }],
    ['failed', { onSuccess: 'do not run', onFailure: 'running', onEither: 'running' }],
    ['aborted', { onSuccess: 'do not run', onFailure: 'do not run', onEither: 'do not run' }],
  ] as const)('after %s', (outcome, expected) => {
    const links = { success: ['onSuccess'], failure: ['onFailure'], always: ['onEither'] }
    const run = new Run([playbook('a', links), ...Object.keys(expected).map((name) => playbook(name))])
    run.advance().end('a', outcome).advance()
    expect(run.statuses()).toEqual({ a: outcome, ...expected })
  })

  it('a node starts with the first link that fires, or with all', () => {
    const nodes = (needsAllParents: boolean) => [
      ...['a', 'b'].map((name) => playbook(name, { success: ['c'] })),
      playbook('c', {}, { needsAllParents }),
    ]
    expect(new Run(nodes(false)).advance().end('a', 'success').advance().statusOf('c')).toBe('running')
    const all = new Run(nodes(true)).advance().end('a', 'success').advance()
    expect(all.statusOf('c')).toBe('waiting')
    expect(all.end('b', 'success').advance().statusOf('c')).toBe('running')
    expect(new Run(nodes(true)).advance().end('a', 'failed').advance().statusOf('c')).toBe('do not run')
    const any = new Run(nodes(false)).advance().end('a', 'failed').advance()
    expect(any.statusOf('c')).toBe('waiting')
    expect(any.end('b', 'failed').advance().statusOf('c')).toBe('do not run')
  })
})

describe('the end', () => {
  it.each([
    ['failed', 'success'],
    ['success', 'failed'],
    ['aborted', 'success'],
  ] as const)('a %s and a %s node without a link that handles them fail the workflow', (one, other) => {
    const run = new Run([playbook('a'), playbook('b', { success: ['c'] }), playbook('c')]).advance()
    run.end('a', one).end('b', other).advance()
    if (other === 'success') run.end('c', 'success').advance()
    expect(run.decision.end).toMatchObject({ status: 'failed' })
  })

  it.each([{ failure: ['b'] }, { always: ['b'] }])('a handled failure does not fail the workflow (%j)', (links) => {
    const run = new Run([playbook('a', links), playbook('b')]).advance().end('a', 'failed').advance()
    run.end('b', 'success').advance()
    expect(run.decision.end).toEqual(success)
  })
})

/** A graph without cycles: links only lead onwards. With what each node comes to when it runs. */
const graphs = fc
  .array(
    fc.record({
      kind: fc.constantFrom('job', 'job', 'job', 'approval', 'unmet'),
      needsAllParents: fc.boolean(),
      outcome: fc.constantFrom<Outcome>('success', 'success', 'failed', 'aborted'),
      links: fc.array(fc.record({ to: fc.nat(), kind: fc.constantFrom('success', 'failure', 'always') }), {
        maxLength: 4,
      }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => {
    const name = (index: number) => `n${String(index)}`
    const nodes = parts.map((part, index): WorkflowNode => {
      const links: Record<string, string[]> = {}
      for (const { to, kind } of part.links) {
        const target = index + 1 + (to % 4)
        if (target < parts.length) (links[kind] ??= []).push(name(target))
      }
      return part.kind === 'approval'
        ? approval(name(index), links, part.needsAllParents)
        : playbook(name(index), links, { needsAllParents: part.needsAllParents })
    })
    const outcomes = new Map(
      parts.map((part, index) => [
        name(index),
        part.kind === 'approval' && part.outcome === 'aborted' ? 'rejected' : part.outcome,
      ]),
    )
    const unmet = parts.flatMap((part, index) => (part.kind === 'unmet' ? [name(index)] : []))
    return { nodes, outcomes, unmet }
  })

describe('every graph', () => {
  const drive = (graph: typeof graphs extends fc.Arbitrary<infer T> ? T : never, draw: (most: number) => number) => {
    const run = new Run(graph.nodes, graph.unmet).advance()
    for (let turns = 0; run.decision.end === null; turns += 1) {
      expect(turns, 'something ends in each turn').toBeLessThanOrEqual(graph.nodes.length)
      const open = run.open()
      expect(open.length, 'something is under way').toBeGreaterThan(0)
      const next = open[draw(open.length)] ?? ''
      run.end(next, graph.outcomes.get(next) ?? 'success').advance()
    }
    return run
  }

  it('comes to an end, with each node ended once, started at most once, and not before a link fired', () => {
    covers('durable.pure')
    fc.assert(
      fc.property(graphs, fc.infiniteStream(fc.nat()), (graph, draws) => {
        const run = drive(graph, (most) => (draws.next().value as number) % most)
        expect(new Set(run.started).size).toBe(run.started.length)
        expect(new Set(run.asked).size).toBe(run.asked.length)
        for (const [identifier, status] of Object.entries(run.statuses())) {
          expect(['success', 'failed', 'aborted', 'skipped', 'do not run']).toContain(status)
          const ran = run.started.includes(identifier) || run.asked.includes(identifier)
          expect(ran).toBe(status !== 'skipped' && status !== 'do not run')
          const incoming = graph.nodes.flatMap((node) =>
            (['success', 'failure', 'always'] as const)
              .filter((kind) => node.links[kind].includes(identifier))
              .map((kind) => {
                const end = run.statusOf(node.identifier)
                const good = end === 'success' || end === 'skipped'
                return {
                  from: node.identifier,
                  fired: kind === 'success' ? good : kind === 'failure' ? end === 'failed' : good || end === 'failed',
                }
              }),
          )
          if (ran && incoming.length > 0) expect(incoming.some((link) => link.fired)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('has the same result, in whatever order its nodes end', () => {
    const onlyJobs = graphs.filter((graph) => graph.nodes.every((node) => node.type === 'job_template'))
    fc.assert(
      fc.property(onlyJobs, fc.infiniteStream(fc.nat()), (graph, draws) => {
        const first = drive(graph, () => 0)
        const other = drive(graph, (most) => (draws.next().value as number) % most)
        expect(other.statuses()).toEqual(first.statuses())
        expect(other.decision.end).toEqual(first.decision.end)
      }),
      { numRuns: 200 },
    )
  })
})
