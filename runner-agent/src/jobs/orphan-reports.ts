import { type AgentMessage, MAX_INLINE_BYTES, type OrphanDescription } from '@holdfast/protocol'
import type { JobFolder } from '../spool/job-folder.js'
import type { JobRun } from './job-run.js'

/**
 * The jobs of one connection that the control plane does not know. Each is described to it, one after the other, since a
 * description may be large; the next one goes out when the control plane has said what becomes of the one before. A job
 * that it does not take stays as it is.
 */
export type OrphanReports = ReturnType<typeof createOrphanReports>

/** The reports of a connection that has just begun. */
export function createOrphanReports(deps: {
  readonly send: (message: AgentMessage) => void
  /** The control plane that a job belongs to, when it is not the one at hand. */
  readonly foreignService: (folder: JobFolder) => string | null
}) {
  const { send, foreignService } = deps
  const reported = new Set<string>()
  const waiting: JobRun[] = []
  let underWay: string | null = null

  const next = (): void => {
    if (underWay !== null) return
    const run = waiting.shift()
    if (!run) return
    const { folder } = run
    underWay = folder.key.runId
    const service = foreignService(folder)
    send({
      type: 'orphan',
      job_id: folder.key.jobId,
      run_id: folder.key.runId,
      service,
      ended: run.state === 'ended',
      description: descriptionOf(folder, service === null),
    })
  }

  /** The control plane does not know the job. It is described once; `anew`: once more. */
  const add = (run: JobRun, how?: 'anew'): void => {
    const { runId } = run.folder.key
    if (reported.has(runId) && how !== 'anew') return
    reported.add(runId)
    if (!waiting.includes(run)) waiting.push(run)
    next()
  }

  return {
    add,
    /** A described job has ended since: the control plane shows it. */
    ended(run: JobRun): void {
      if (reported.has(run.folder.key.runId)) add(run, 'anew')
    },
    /** The control plane said what becomes of a job. @param isKnown it knows the job now, so nothing more is described */
    answered(runId: string, isKnown: boolean): void {
      if (isKnown) reported.delete(runId)
      if (underWay !== runId) return
      underWay = null
      next()
    },
  }
}

/**
 * What the claim says of a job; null when it cannot be read.
 * @param withVariables false for a control plane that only has to decide about the job, because it need not know them
 */
function descriptionOf(folder: JobFolder, withVariables: boolean): OrphanDescription | null {
  const claim = folder.claim()
  if (claim.kind !== 'present') return null
  const { order, claimed_at } = claim.content
  const inline = 'inline' in order.extravars ? order.extravars.inline : null
  // An order holds no more than that; one that somebody changed by hand must not cost the connection.
  const fits = inline !== null && JSON.stringify(inline).length <= MAX_INLINE_BYTES
  return {
    form: order.form,
    playbook: order.playbook,
    extravars: withVariables && fits ? inline : null,
    launched: order.launched,
    manifest_sha256: order.manifest_sha256,
    claimed_at: Math.max(0, Date.parse(claimed_at) || 0),
  }
}
