import type { Decision, Facts, NodeResult, NodeState } from '../kind.js'
import { NOTHING } from '../kind.js'
import type { PlannedStep, StepsPlan } from './plan.js'

/**
 * Decides which step is next. One step runs at a time, in their order. A step that failed or was aborted stops the
 * steps after it, unless it says `continue` or they say `always`.
 */
export function decideSteps({ steps }: StepsPlan, nodes: readonly NodeState[], { extravars }: Facts): Decision {
  const changes: NodeResult[] = []
  let stoppedBy: string | null = null
  let passedOver: string | null = null
  for (const [index, step] of steps.entries()) {
    const node = nodes[index]
    if (node === undefined || node.status === 'running') return { ...NOTHING, changes }
    if (node.status === 'failed' || node.status === 'aborted') {
      const failure = failureText(node)
      if (step.continue) passedOver ??= failure
      else stoppedBy ??= failure
    } else if (node.status === 'approve') {
      return { ...NOTHING, changes, start: node.approval?.state === 'approved' ? [step.name] : [] }
    } else if (node.status === 'waiting') {
      const why = whyNot(step, stoppedBy, extravars)
      if (!why)
        return step.approval ? { ...NOTHING, changes, ask: step.name } : { ...NOTHING, changes, start: [step.name] }
      changes.push({ identifier: step.name, ...why })
    }
  }
  if (stoppedBy !== null) return { ...NOTHING, changes, end: { status: 'failed', reason: stoppedBy } }
  if (passedOver !== null) return { ...NOTHING, changes, end: { status: 'warning', reason: passedOver } }
  return { ...NOTHING, changes, end: { status: 'success', reason: null } }
}

/** Why a step does not run, or null. */
function whyNot(
  { ifExtraVar, always }: PlannedStep,
  stoppedBy: string | null,
  extravars: Facts['extravars'],
): Pick<NodeResult, 'status' | 'reason'> | null {
  if (stoppedBy !== null && !always) return { status: 'do not run', reason: stoppedBy }
  if (ifExtraVar === null || (Object.hasOwn(extravars, ifExtraVar) && extravars[ifExtraVar] === true)) return null
  return { status: 'skipped', reason: `the extra variable '${ifExtraVar}' is not true` }
}

function failureText({ identifier, status, reason }: NodeState): string {
  const why = reason === null ? '' : `: ${reason}`
  return `step '${identifier}' ${status === 'aborted' ? 'was aborted' : 'failed'}${why}`
}
