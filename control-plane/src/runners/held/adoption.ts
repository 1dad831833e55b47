import type { AgentMessage, Launched, OrphanDescription } from '@holdfast/protocol'
import { NO_PLAYBOOK, storeJob } from '../../jobs/job-port.js'
import { ownKeys } from '../../store/jobs/dispatch.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'
import { deleteOrphan, findOrphan, noteOrphan, type OrphanReason } from '../../store/jobs/orphans.js'
import type { Queries } from '../../store/store.js'
import { findUserByName } from '../../store/accounts/users.js'
import type { RunnerConnection } from '../socket/connection.js'
import { type Resumption, kept, ofPastRun, resumptionOfRun } from './spooled-jobs.js'
import { reportedText } from '../socket/reported.js'
import { type UserType, userTypeOf } from '../../words/user-type.js'

/** The message in which an agent describes a job that the database does not know. */
export type OrphanMessage = Extract<AgentMessage, { type: 'orphan' }>
/** The runner of a job that is adopted, and its connection. */
export type AdoptingRunner = Pick<RunnerConnection, 'runnerId' | 'runnerName' | 'fingerprint' | 'keys' | 'epoch'>

/** Shown as the launching user of a job if nobody knows who launched it. */
const NOBODY = { user: 'unknown', user_type: 'local' } as const

/**
 * Decides about a job that a runner has described, because this database does not know its run: the database was lost,
 * or restored from a backup that is older than the job. The product never ends a playbook for that reason. A new row is
 * made for the job under a new number, and its output arrives from the beginning to its real end. A job of another
 * control plane waits for an admin. A second call gives the same answer, because then the run is known.
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
 * Makes a new row for a job from what its runner says. The named user decides who may see it. If a deleted account had
 * that name before, it is not clear which account is meant. Then only admins see the job.
 */
async function insertAdopted(
  queries: Queries,
  runner: AdoptingRunner,
  { run_id, description }: Pick<OrphanMessage, 'run_id' | 'description'>,
  now: number,
): Promise<number> {
  const launched = launcherOf(description)
  const account = launched ? await findUserByName(queries, launched.user_type, launched.user) : null
  const form = reportedText(description?.form ?? '') || 'unknown'
  const said = launched?.time ?? description?.claimed_at ?? now
  const row = {
    run_id,
    form,
    status: 'running',
    dispatch: 'claimed',
    // The runner's clock counts, because nobody else knows the time.
    start_time: Math.min(said, now),
    adopted_at: now,
    user_id: account?.nameHadBy === null ? account.id : null,
    user_name: reportedText(launched?.user ?? NOBODY.user),
    user_type: launched?.user_type ?? NOBODY.user_type,
    runner_id: runner.runnerId,
    runner_name: runner.runnerName,
    runner_key: runner.fingerprint,
    credentials: '{}',
    extravars: JSON.stringify({ ...description?.extravars, ...launched?.masked }),
    playbook: JSON.stringify({ ...NO_PLAYBOOK, playbook: description?.playbook ?? '' }),
  } as const
  const { id } = await storeJob(queries, { row })
  await appendServiceLine(queries, id, ADOPTED_LINE)
  return id
}

const ADOPTED_LINE =
  '[WARNING]: This job was adopted from its runner: the database did not know it. It was restored from an older copy, or lost'

type Launcher = Omit<Launched, 'user_type'> & { readonly user_type: UserType }

/** Who launched a job, as its runner says; null: it does not say, or it names an unknown type of user. */
function launcherOf(description: OrphanDescription | null): Launcher | null {
  if (description === null) return null
  const type = userTypeOf(description.launched.user_type)
  return type && { ...description.launched, user_type: type }
}

function shownOf(description: OrphanDescription | null) {
  if (description === null) return {}
  const launched = launcherOf(description)
  return {
    form: reportedText(description.form),
    user_name: launched ? reportedText(launched.user) : null,
    user_type: launched?.user_type ?? null,
    claimed_at: description.claimed_at,
  }
}
