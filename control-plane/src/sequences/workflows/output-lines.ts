import { copyOutput } from '../../store/jobs/job-output.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'
import type { Queries } from '../../store/store.js'
import type { NodeStatus } from '../../words/node-status.js'
import type { NodeState, SequenceEvent } from '../kind.js'
import { nodeDataOf } from './node-data.js'

/**
 * Writes events of a workflow into its output: the output of each node, under a banner, as soon as the node has ended,
 * and a recap at the end.
 */
export async function writeWorkflowOutput(
  queries: Queries,
  jobId: number,
  event: SequenceEvent,
  outputLimitBytes: number,
): Promise<void> {
  const say = (line: string) => appendServiceLine(queries, jobId, line)
  switch (event.what) {
    case 'started':
      return say(`Started [${event.identifier}] as job ${event.jobId}`)
    case 'ended': {
      const { identifier, status, subjobId } = event.node
      await say(nodeBanner(identifier, status))
      if (subjobId !== null && !(await copyOutput(queries, subjobId, jobId, outputLimitBytes))) {
        await say(`[WARNING]: The output would be too long with that of '${identifier}', which is in job ${subjobId}`)
      }
      const { lost } = nodeDataOf(event.node)
      if (lost.length === 0) return
      return say(`[WARNING]: The node '${identifier}' hands on less than it published: ${lost.join('; ')}`)
    }
    case 'changed': {
      const { identifier, status, reason } = event.change
      if (status === 'skipped') return say(`${nodeBanner(identifier, status)}\n${reason ?? ''}`)
      if (status === 'failed' || status === 'aborted') {
        return say(
          `[WARNING]: The node '${identifier}' ${status === 'failed' ? 'failed' : 'was aborted'}: ${reason ?? ''}`,
        )
      }
      return
    }
    case 'over':
      return say(`${banner('WORKFLOW RECAP')}\n${countsOf(event.nodes)}\nThe workflow ended: ${event.status}`)
  }
}

function nodeBanner(identifier: string, status: NodeStatus): string {
  return banner(`WORKFLOW NODE [${identifier}] (${status})`)
}

function banner(text: string): string {
  return `${text} `.padEnd(79, '*')
}

const COUNTED = [
  ['ok', 'success'],
  ['failed', 'failed'],
  ['aborted', 'aborted'],
  ['skipped', 'skipped'],
  ['not run', 'do not run'],
] as const

function countsOf(nodes: readonly NodeState[]): string {
  const counts = COUNTED.map(([word, status]) => [word, nodes.filter((node) => node.status === status).length] as const)
  return counts.flatMap(([word, count]) => (count > 0 ? [`${word}=${count}`] : [])).join(' ')
}
