import type { Forms } from '../../forms/form.js'
import type { OpenSequence, SequenceKind } from '../kind.js'
import { decideSteps } from './decide.js'
import { type StepsPlan, planSteps, stepsPlanOf, stepVariables } from './plan.js'
import { writeStepsOutput } from './output-lines.js'
import type { PlanNode } from '../../jobs/record/sequence-port.js'

/** The kind of parent job that multistep forms make: child jobs one after the other. */
export function createMultistep(forms: Pick<Forms, 'contextOf'>): SequenceKind {
  return {
    jobType: 'multistep',
    async plan(form) {
      return form.type === 'multistep' ? planSteps(form, await forms.contextOf(form)) : null
    },
    open: (stored) => openSteps(stepsPlanOf(stored)),
    endsWithRejection: true,
  }
}

function openSteps(plan: StepsPlan): OpenSequence {
  const stepOf = (name: string) => {
    const step = plan.steps.find((known) => known.name === name)
    if (!step) throw new Error(`the plan has no step ${name}`)
    return step
  }
  return {
    nodes: () => plannedSteps(plan),
    decide: (nodes, facts) => decideSteps(plan, nodes, facts),
    childJob(identifier, _nodes, { extravars }) {
      const step = stepOf(identifier)
      const { settings, notifications } = step
      return { settings, values: stepVariables(step, extravars), notifications }
    },
    approval(identifier) {
      const { approval } = stepOf(identifier)
      if (!approval) throw new Error(`the step ${identifier} asks for no approval`)
      return approval
    },
    writeOutput: (queries, jobId, event) => writeStepsOutput(queries, jobId, plan, event),
  }
}

/** The steps of a multistep job as a chain: each follows the one before, after a success only or after any end. */
function plannedSteps({ steps }: StepsPlan): PlanNode[] {
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
