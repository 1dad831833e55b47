import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JobApproval } from '../../../control-plane/src/jobs/record/approval.js'
import type { NodeState } from '../../../control-plane/src/sequences/kind.js'
import { decideSteps } from '../../../control-plane/src/sequences/multistep/decide.js'
import type { PlannedStep, StepsPlan } from '../../../control-plane/src/sequences/multistep/plan.js'
import { isFinalNodeStatus, requireLegalMove } from '../../../control-plane/src/sequences/node-status.js'
import { covers } from '../../interface/covers.js'

/** A row of steps, and what would become of each if it ran. */
interface Course {
  readonly continue: boolean
  readonly always: boolean
  readonly condition: 'none' | 'true' | 'false' | 'text' | 'missing'
  readonly asks: boolean
  readonly outcome: 'success' | 'failed' | 'aborted'
}

const courses = fc.array(
  fc.record<Course>({
    continue: fc.boolean(),
    always: fc.boolean(),
    condition: fc.constantFrom('none', 'none', 'true', 'false', 'text', 'missing'),
    asks: fc.boolean(),
    outcome: fc.constantFrom('success', 'success', 'failed', 'aborted'),
  }),
  { minLength: 1, maxLength: 8 },
)

const EXTRAVARS = { true: true, false: false, text: 'true' }
const APPROVAL = { title: null, message: null, roles: [], notifications: [], allowSelf: false }

const planOf = (steps: readonly Course[]): StepsPlan => ({
  steps: steps.map((course, index) => ({
    name: `s${index}`,
    settings: {} as PlannedStep['settings'],
    key: null,
    reserved: [],
    continue: course.continue,
    always: course.always,
    approval: course.asks ? APPROVAL : null,
    notifications: null,
    ifExtraVar: course.condition === 'none' ? null : course.condition,
  })),
})

/** Plainly: one step after the other. What ran, what was asked for, and how the parent job ends. */
function model(steps: readonly Course[]) {
  const happened: string[] = []
  const statuses: string[] = []
  let [isStopped, isPassedOver] = [false, false]
  for (const [index, course] of steps.entries()) {
    const wanted = course.condition === 'none' || course.condition === 'true'
    if (isStopped && !course.always) statuses.push('do not run')
    else if (!wanted) statuses.push('skipped')
    else {
      if (course.asks) happened.push(`ask s${index}`)
      happened.push(`run s${index}`)
      statuses.push(course.outcome)
      if (course.outcome !== 'success') {
        if (course.continue) isPassedOver = true
        else isStopped = true
      }
    }
  }
  return { happened, statuses, status: isStopped ? 'failed' : isPassedOver ? 'warning' : 'success' }
}

/** By what `decideSteps` says, kept only in what would be stored. */
function drive(steps: readonly Course[]) {
  const plan = planOf(steps)
  const happened: string[] = []
  let nodes = plan.steps.map(({ name }): NodeState => ({
    identifier: name,
    status: 'waiting',
    subjobId: null,
    startTime: null,
    endTime: null,
    reason: null,
    approval: null,
    dueTime: null,
    artifacts: {},
  }))
  const change = (identifier: string, to: Partial<NodeState>) => {
    nodes = nodes.map((node) => {
      if (node.identifier !== identifier) return node
      if (to.status && to.status !== node.status) requireLegalMove(node.status, to.status)
      return { ...node, ...to }
    })
  }
  for (let turns = 0; turns < 5 * steps.length + 5; turns += 1) {
    const decision = decideSteps(plan, nodes, { extravars: EXTRAVARS, now: 0, serviceTime: 0 })
    // Asked again before anything else happened it says the same: a step that was not taken is not lost.
    expect(decideSteps(plan, nodes, { extravars: EXTRAVARS, now: 9, serviceTime: 9 })).toEqual(decision)
    for (const { identifier, status, reason } of decision.changes) change(identifier, { status, reason })
    expect(decision.start.length + (decision.ask === null ? 0 : 1) + (decision.end ? 1 : 0)).toBe(1)
    if (decision.end) return { happened, nodes, end: decision.end }
    for (const name of decision.start) {
      happened.push(`run ${name}`)
      change(name, { status: 'running' })
      expect(decideSteps(plan, nodes, { extravars: EXTRAVARS, now: 0, serviceTime: 0 })).toEqual({
        changes: [],
        start: [],
        ask: null,
        end: null,
      })
      change(name, { status: steps[Number(name.slice(1))]?.outcome ?? 'failed', reason: 'why' })
    }
    if (decision.ask !== null) {
      happened.push(`ask ${decision.ask}`)
      const waiting = { ...APPROVAL, state: 'waiting' } as unknown as JobApproval
      change(decision.ask, { status: 'approve', approval: waiting })
      expect(decideSteps(plan, nodes, { extravars: EXTRAVARS, now: 0, serviceTime: 0 }).start).toEqual([])
      change(decision.ask, { approval: { ...waiting, state: 'approved' } })
    }
  }
  throw new Error('it never ends')
}

test('the next of several steps is that of a plain loop over them, whatever their properties and ends are', () => {
  covers('durable.pure')
  fc.assert(
    fc.property(courses, (steps) => {
      const expected = model(steps)
      const { happened, nodes, end } = drive(steps)
      expect(happened).toEqual(expected.happened)
      expect(nodes.map(({ status }) => status)).toEqual(expected.statuses)
      expect(end.status).toBe(expected.status)
      expect(end.reason === null).toBe(expected.status === 'success')
      expect(nodes.every(({ status }) => isFinalNodeStatus(status))).toBe(true)
    }),
    { numRuns: 500 },
  )
})
