import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WorkflowNode } from '../../../control-plane/src/sequences/workflows/workflow.js'
import { decideWorkflow } from '../../../control-plane/src/sequences/workflows/decide-workflow.js'
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

  it('a node of which nothing is stored yet waits, and starts when its turn comes', () => {
    const nodes = [playbook('a', { success: ['b'] }), playbook('b')]
    const facts = { nodes: new Map(), isConditionMet: () => true }
    expect(decideWorkflow(nodes, facts)).toEqual({ start: ['a'], changes: [], ask: null, end: null })
  })

  it('a skipped node fires its links for a success and for any end, and not those for a failure', () => {
    const links = { success: ['onSuccess'], failure: ['onFailure'], always: ['onEither'] }
    const nodes = [playbook('a', links), ...['onSuccess', 'onFailure', 'onEither'].map((name) => playbook(name))]
    const skipped = { status: 'skipped', reason: null, isRejected: false } as const
    const decision = decideWorkflow(nodes, { nodes: new Map([['a', skipped]]), isConditionMet: () => true })
    expect(decision).toMatchObject({ start: ['onSuccess', 'onEither'], changes: [{ identifier: 'onFailure' }] })
  })

  it('a workflow ends in the same decision as the last nodes that do not run', () => {
    const nodes = [playbook('a', { failure: ['b'] }), playbook('b', { success: ['c'] }), playbook('c')]
    const ended = { status: 'success', reason: null, isRejected: false } as const
    expect(decideWorkflow(nodes, { nodes: new Map([['a', ended]]), isConditionMet: () => true })).toMatchObject({
      changes: [
        { identifier: 'b', status: 'do not run' },
        { identifier: 'c', status: 'do not run' },
      ],
      end: success,
    })
  })

  it('a node whose only parents do not run does not run either', () => {
    covers('workflow.do-not-run')
    const nodes = [playbook('a', { failure: ['b'] }), playbook('b', { always: ['c'] }), playbook('c')]
    const run = new Run(nodes).advance().end('a', 'success').advance()
    expect(run.statuses()).toEqual({ a: 'success', b: 'do not run', c: 'do not run' })
    expect(run.decision.end).toEqual(success)
  })

  it('a node starts with the first link that fires, or with all', () => {
    covers('workflow.convergence')
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

  it('two links between the same nodes count as one', () => {
    const nodes = [playbook('a', { success: ['b'], failure: ['b'] }), playbook('b', {}, { needsAllParents: true })]
    expect(new Run(nodes).advance().end('a', 'failed').advance().statusOf('b')).toBe('running')
  })

  it('a node whose condition is not met is skipped, and the next nodes run as after a success', () => {
    const nodes = [
      playbook('a', { success: ['b'], failure: ['c'] }, { ifExtraVar: 'go' }),
      ...['b', 'c'].map((name) => playbook(name)),
    ]
    const run = new Run(nodes, ['a']).advance()
    expect(run.statuses()).toEqual({ a: 'skipped', b: 'running', c: 'do not run' })
    expect(run.facts.get('a')?.reason).toBe("the extra variable 'go' is not true")
  })
})

describe('the end', () => {
  it.each([
    ['failed', 'success', "The node 'a' failed: failed"],
    ['success', 'failed', "The node 'b' failed: failed"],
    ['aborted', 'success', "The node 'a' was aborted: aborted"],
  ] as const)('a %s and a %s node without a link that handles them', (one, other, reason) => {
    const run = new Run([playbook('a'), playbook('b', { success: ['c'] }), playbook('c')]).advance()
    run.end('a', one).end('b', other).advance()
    if (other === 'success') run.end('c', 'success').advance()
    expect(run.decision.end).toEqual({ status: 'failed', reason })
  })

  it('names the first node that failed, how many more there are, and why', () => {
    const end = (...facts: readonly (readonly ['failed' | 'aborted', string | null])[]) =>
      decideWorkflow(
        facts.map((_, index) => playbook(`n${index}`)),
        {
          nodes: new Map(
            facts.map(([status, reason], index) => [`n${index}`, { status, reason, isRejected: false }] as const),
          ),
          isConditionMet: () => true,
        },
      ).end?.reason
    expect(end(['failed', null])).toBe("The node 'n0' failed")
    expect(end(['aborted', 'why'])).toBe("The node 'n0' was aborted: why")
    expect(end(['failed', 'why'], ['aborted', null])).toBe("The node 'n0' failed (and 1 more): why")
    expect(end(['aborted', null], ['failed', null], ['failed', null])).toBe("The node 'n0' was aborted (and 2 more)")
  })

  it.each([{ failure: ['b'] }, { always: ['b'] }])('a handled failure does not fail the workflow (%j)', (links) => {
    const run = new Run([playbook('a', links), playbook('b')]).advance().end('a', 'failed').advance()
    run.end('b', 'success').advance()
    expect(run.decision.end).toEqual(success)
  })
})

describe('approvals', () => {
  it('are asked for one by one when nothing else runs, in the order of the file', () => {
    const run = new Run([approval('one', { success: ['work'] }), playbook('other'), approval('two'), playbook('work')])
    expect(run.advance().asked).toEqual([])
    expect(run.end('other', 'success').advance().asked).toEqual(['one'])
    run.end('one', 'success').advance()
    expect(run.statusOf('work')).toBe('running')
    expect(run.asked).toEqual(['one'])
    expect(run.end('work', 'success').advance().asked).toEqual(['one', 'two'])
    run.end('two', 'success').advance()
    expect(run.decision.end).toEqual(success)
  })

  it('a rejected approval is a failure; if no link handles it, the workflow ends', () => {
    const handled = new Run([approval('ask', { failure: ['tidy'] }), playbook('tidy')]).advance().end('ask', 'rejected')
    expect(handled.advance().statusOf('tidy')).toBe('running')
    handled.end('tidy', 'success').advance()
    expect(handled.decision.end).toEqual(success)

    const run = new Run([approval('ask', { success: ['work'] }), playbook('work'), approval('more')])
    run.advance().end('ask', 'rejected').advance()
    expect(run.statuses()).toEqual({ ask: 'failed', work: 'do not run', more: 'do not run' })
    expect(run.decision.end).toEqual({ status: 'rejected', reason: 'rejected' })
  })

  it.each(['running', 'approve'] as const)('a rejection ends the workflow after what is still %s', (status) => {
    const nodes = [approval('ask'), playbook('work'), playbook('later'), approval('more')]
    const decide = (work: 'running' | 'approve' | 'success') =>
      decideWorkflow(nodes, {
        nodes: new Map([
          ['ask', { status: 'failed', reason: 'rejected by ann', isRejected: true }],
          ['work', { status: work, reason: null, isRejected: false }],
        ]),
        isConditionMet: () => true,
      })
    const changes = ['later', 'more'].map((identifier) => ({
      identifier,
      status: 'do not run',
      reason: "'ask' was rejected",
    }))
    expect(decide(status)).toEqual({ start: [], changes, ask: null, end: null })
    expect(decide('success')).toEqual({
      start: [],
      changes,
      ask: null,
      end: { status: 'rejected', reason: 'rejected by ann' },
    })
  })

  it('an approval that is not given in time is a failure like any other', () => {
    const run = new Run([approval('ask'), approval('more')]).advance().end('ask', 'failed').advance()
    expect(run.asked).toEqual(['ask', 'more'])
    run.end('more', 'success').advance()
    expect(run.decision.end).toEqual({ status: 'failed', reason: "The node 'ask' failed: failed" })
  })

  it('a condition before it does not prevent it from waiting', () => {
    const run = new Run([playbook('a', { success: ['ask'] }, { ifExtraVar: 'go' }), approval('ask')], ['a']).advance()
    expect(run.statuses()).toEqual({ a: 'skipped', ask: 'approve' })
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

  it('gives the same decision for the same facts', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const run = drive(graph, (most) => most - 1)
        const { end } = run.decision
        expect(run.advance().decision).toEqual({ start: [], changes: [], ask: null, end })
      }),
      { numRuns: 100 },
    )
  })
})
