import type { AgentMessage, OrphanDescription } from '@holdfast/protocol'
import { NO_PLAYBOOK } from '../../jobs/job-port.js'
import { ownKeys } from '../../store/jobs/dispatch.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'
import { insertJob } from '../../store/jobs/new-job.js'
import { deleteOrphan, findOrphan, noteOrphan, type OrphanReason } from '../../store/jobs/orphans.js'
import type { Queries } from '../../store/store.js'
import { findUserByName } from '../../store/accounts/users.js'
import type { RunnerConnection } from '../socket/connection.js'
import { type Resumption, kept, ofPastRun, resumptionOfRun } from './spooled-jobs.js'
import { plainText } from '../socket/reported.js'

export type OrphanMessage = Extract<AgentMessage, { type: 'orphan' }>
export type AdoptingRunner = Pick<RunnerConnection, 'runnerId' | 'runnerName' | 'fingerprint' | 'keys' | 'epoch'>

/** What is shown of whoever launched a job of which nobody can say it. */
const NOBODY = { user: 'unknown', user_type: 'local' }

/**
 * Decides about a job that a runner has described, because this database did not know its run: it was lost, or restored
 * from a copy that is older than the job. The product never has a playbook ended because of that. The job is made anew,
 * under a new number, and goes on from the beginning of its output to its real end. What belongs to another control plane
 * waits for an admin. Asked twice it says the same: the run is known then.
 */
export async function takeOrphan(
  queries: Queries,
  runner: AdoptingRunner,
  message: OrphanMessage,
  now: number,
): Promise<Resumption> {
  const { run_id, job_id, service, description } = message
  const wait = async (reason: OrphanReason) => {
    await noteOrphan(queries, {
      runner_id: runner.runnerId,
      run_id,
      job_number: job_id,
      reason,
      service,
      reported_at: now,
      ended: message.ended ? 1 : 0,
      ...shownOf(description),
    })
    return kept(message, 'unknown')
  }
  const { decision } = (await findOrphan(queries, runner.runnerId, run_id)) ?? { decision: null }
  if (decision === 'forget') return ofPastRun(message, 'asked')
  if (service !== null) return wait('other_service')
  const holder = { runnerId: runner.runnerId, epoch: runner.epoch, keys: await ownKeys(queries, runner) }
  const known = await resumptionOfRun(queries, holder, message, now)
  if (known === 'other_runner') return wait(known)
  if (known === null && description === null && decision !== 'adopt') return wait('no_description')
  await deleteOrphan(queries, runner.runnerId, run_id)
  if (known) return known
  const number = await insertAdopted(queries, runner, { run_id, description }, now)
  const resumed = await resumptionOfRun(queries, holder, message, now)
  if (resumed === null || resumed === 'other_runner') throw new Error(`job ${number} was adopted and is not there`)
  return resumed
}

/**
 * Makes the row of a job anew, of what its runner says. Who may see it follows from the user named. A name that a deleted
 * account had before says too little: then only admins see the job.
 */
async function insertAdopted(
  queries: Queries,
  runner: AdoptingRunner,
  { run_id, description }: Pick<OrphanMessage, 'run_id' | 'description'>,
  now: number,
): Promise<number> {
  const launched = description?.launched ?? launchedBy(description)
  const account = launched ? await findUserByName(queries, launched.user_type, launched.user) : null
  const form = plainText(description?.form ?? '') || 'unknown'
  const said = launched?.time ?? description?.claimed_at ?? now
  const id = await insertJob(queries, {
    run_id,
    form,
    status: 'running',
    dispatch: 'claimed',
    // By the runner's clock where nobody else can say it.
    start_time: Math.min(said, now),
    adopted_at: now,
    user_id: account?.nameHadBy === null ? account.id : null,
    user_name: plainText(launched?.user ?? NOBODY.user),
    user_type: plainText(launched?.user_type ?? NOBODY.user_type),
    runner_id: runner.runnerId,
    runner_name: runner.runnerName,
    runner_key: runner.fingerprint,
    credentials: '{}',
    extravars: JSON.stringify({ ...description?.extravars, ...launched?.masked }),
    playbook: JSON.stringify({ ...NO_PLAYBOOK, playbook: description?.playbook ?? '' }),
  })
  await appendServiceLine(queries, id, ADOPTED_LINE)
  return id
}

const ADOPTED_LINE =
  '[WARNING]: This job was adopted from its runner: the database did not know it. It was restored from an older copy, or lost'

/** Of orders that do not say who launched them: the playbook is told it, too. */
function launchedBy(
  description: OrphanDescription | null,
): { readonly user: string; readonly user_type: string; readonly time?: number; readonly masked?: object } | null {
  const user = description?.extravars?.ansibleforms_user
  if (typeof user !== 'object' || user === null) return null
  const { username, type } = user as { username?: unknown; type?: unknown }
  return typeof username === 'string' && typeof type === 'string' ? { user: username, user_type: type } : null
}

function shownOf(description: OrphanDescription | null) {
  if (description === null) return {}
  const launched = description.launched ?? launchedBy(description)
  return {
    form: plainText(description.form),
    user_name: launched ? plainText(launched.user) : null,
    user_type: launched ? plainText(launched.user_type) : null,
    claimed_at: description.claimed_at,
  }
}
