import { appendServiceLine } from '../../store/jobs/job-streams.js'
import type { Queries } from '../../store/store.js'
import type { NodeState, SequenceEvent } from '../kind.js'
import type { StepsPlan } from './plan.js'

/**
 * Writes events into the output of the parent job: a line for each start and end, and a recap, in the style of ansible.
 */
export async function writeStepsOutput(
  queries: Queries,
  jobId: number,
  plan: StepsPlan,
  event: SequenceEvent,
): Promise<void> {
  await appendServiceLine(queries, jobId, textOf(plan, event))
}

function textOf({ steps }: StepsPlan, event: SequenceEvent): string {
  switch (event.what) {
    case 'started':
      return banner(`STEP [${event.identifier}] (job ${event.jobId})`)
    case 'ended': {
      const { identifier, status, subjobId, reason } = event.node
      const goesOn = steps.find((step) => step.name === identifier)?.continue ?? false
      const job = subjobId === null ? '' : ` (job ${subjobId})`
      const why = reason === null ? '' : `: ${reason}`
      if (status === 'success') return `ok: [${identifier}]${job}`
      return `${status}: [${identifier}]${job}${why}${goesOn ? '\n...going on (continue)' : ''}`
    }
    case 'changed': {
      const { identifier, status, reason } = event.change
      return `${status === 'aborted' ? status : 'skipping'}: [${identifier}]${reason === null ? '' : `: ${reason}`}`
    }
    case 'over':
      return `${banner('STEP RECAP')}\n${countsOf(event.nodes)}\nThe job ended: ${event.status}`
  }
}

function banner(text: string): string {
  return `${text} `.padEnd(79, '*')
}

function countsOf(nodes: readonly NodeState[]): string {
  const count = (...statuses: NodeState['status'][]) => nodes.filter(({ status }) => statuses.includes(status)).length
  const aborted = count('aborted')
  return [
    `ok=${count('success')}`,
    `failed=${count('failed')}`,
    ...(aborted > 0 ? [`aborted=${aborted}`] : []),
    `skipped=${count('skipped', 'do not run')}`,
  ].join(' ')
}
