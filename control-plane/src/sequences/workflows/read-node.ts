import type { Caller } from '../../auth/sessions/caller.js'
import { isoTime } from '../../time/clock.js'
import { NotFoundError } from '../../errors.js'
import { extravarsOf } from '../../jobs/record/playbook.js'
import { type JobReading, approvalRecordOf, maskedFor } from '../../jobs/read/reading.js'
import { storedPlanOf } from '../../jobs/record/stored-plan.js'
import { requireVisible } from '../../jobs/record/visibility.js'
import { findJob } from '../../store/jobs/jobs.js'
import { findNode, findSequence } from '../../store/jobs/sequences.js'
import { nodeStatusOf } from '../node-status.js'
import { storedDataOf } from './node-data.js'
import { workflowPlanOf } from './plan.js'
import { nodeNameOf } from './planned-nodes.js'

/**
 * Shows a workflow node: its status, its job, the extra variables of that job and what it published, with secrets
 * masked.
 * @throws NotFoundError, ForbiddenError
 */
export async function readNode(reading: JobReading, caller: Caller, id: number, identifier: string) {
  const { queries } = reading
  const { job_type: type } = await requireVisible(queries, caller, id)
  if (type !== 'workflow') throw notFound(`Job ${id} is no workflow and has no node '${identifier}'`)
  const sequence = await findSequence(queries, id)
  const row = sequence && (await findNode(queries, id, identifier))
  const nodes = sequence ? workflowPlanOf(storedPlanOf(sequence)).workflow.nodes : []
  const node = nodes.find((known) => known.identifier === identifier)
  const parent = await findJob(queries, id)
  if (!row || !node || !parent) throw notFound(`The workflow of job ${id} has no node '${identifier}'`)
  const job = row.subjob_id === null ? null : await findJob(queries, row.subjob_id)
  return {
    node: {
      identifier,
      name: nodeNameOf(node),
      type: node.type,
      status: nodeStatusOf(row.status),
      reason: row.reason,
      start: isoTime(row.start_time),
      // A node that never started has no end.
      end: row.start_time === null ? null : isoTime(row.end_time),
      links: node.links,
      approval: approvalRecordOf(row),
    },
    job: job?.id ?? null,
    extravars: job ? await maskedFor(reading, parent, extravarsOf(job)) : {},
    artifacts: await maskedFor(reading, parent, storedDataOf(row).own),
  }
}

function notFound(message: string): NotFoundError {
  return new NotFoundError('node_not_found', message)
}
