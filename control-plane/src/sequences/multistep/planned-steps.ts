import type { PlanNode } from '../../jobs/record/sequence-port.js'
import type { StepsPlan } from './plan.js'

/** The steps of a multistep job as a chain: each follows the one before, after a success only or after any end. */
export function plannedSteps({ steps }: StepsPlan): PlanNode[] {
  return steps.map((step, index): PlanNode => {
    const next = steps[index + 1]
    const following = next === undefined ? [] : [next.name]
    const isAfterAll = step.continue || next?.always === true
    return {
      identifier: step.name,
      name: step.settings.playbook,
      type: 'step',
      links: { success: isAfterAll ? [] : following, failure: [], always: isAfterAll ? following : [] },
      needsAllParents: false,
      runners: [step.settings.runner],
    }
  })
}
