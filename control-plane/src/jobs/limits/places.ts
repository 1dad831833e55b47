import { ConflictError } from '../../errors.js'
import type { Concurrency } from '../../forms/form.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'
import { findPlaceHolders, findPlaceWaiters, givePlace } from '../../store/jobs/places.js'
import type { Queries } from '../../store/store.js'
import { isSequence } from '../record/sequence-port.js'

/** Most jobs that one text names. */
const MAX_NAMED = 10

/**
 * A job that has just got a place. The caller that stored this announces it after the commit: to the runner of the job,
 * or to the sequences.
 */
export interface Admitted {
  readonly id: number
  /** Null: it is a parent job. */
  readonly runnerId: number | null
}

/** The state of the jobs of a group, as people see it. */
export interface GroupState {
  readonly name: string
  readonly limit: number
  /** The jobs that have a place. */
  readonly running: readonly number[]
}

/**
 * Refuses a launch of a form that says `on: refuse` while its group is full, inside the write of the launch.
 * @throws ConflictError
 */
export async function requirePlace(queries: Queries, { group, limit, on }: Concurrency): Promise<void> {
  if (on !== 'refuse') return
  const running = await findPlaceHolders(queries, group)
  const waiting = await findPlaceWaiters(queries, group)
  if (waiting.length === 0 && running.length < limit) return
  const jobs = [...running, ...waiting.map(({ id }) => id)]
  throw new ConflictError('group_full', `No job was started: ${fullText({ name: group, limit, running: jobs })}`, {
    jobs,
  })
}

/**
 * Gives the free places of a group to the jobs that wait for one, oldest first, inside a write. A job gets a place when
 * fewer jobs have one than its own form allows. No job overtakes another: if the oldest cannot get a place, the others
 * wait, too. All nodes decide here. Their writes have the same result as if they had run one after the other, so no
 * place is given twice.
 */
export async function admit(queries: Queries, group: string, now: number): Promise<Admitted[]> {
  const waiting = await findPlaceWaiters(queries, group)
  if (waiting.length === 0) return []
  let taken = (await findPlaceHolders(queries, group)).length
  const admitted: Admitted[] = []
  for (const job of waiting) {
    if (taken >= (job.concurrency_limit ?? 1)) break
    await givePlace(queries, job.id, isSequence(job) ? 'driven' : 'queued', now)
    admitted.push({ id: job.id, runnerId: isSequence(job) ? null : job.runner_id })
    taken += 1
  }
  return admitted
}

/**
 * The same for a job that has just begun to wait. If it has to go on waiting, its output says what it waits for.
 * @param group null: the job has no group, and nothing happens
 */
export async function admitNew(
  queries: Queries,
  id: number,
  group: { readonly name: string; readonly limit: number } | null,
  now: number,
): Promise<Admitted[]> {
  if (group === null) return []
  const admitted = await admit(queries, group.name, now)
  if (!admitted.some((job) => job.id === id)) {
    const running = await findPlaceHolders(queries, group.name)
    await appendServiceLine(queries, id, `Waiting for a place: ${fullText({ ...group, running })}`)
  }
  return admitted
}

/** `in the group 'deploy' only 1 job may run at once (job 12)`. */
function fullText({ name, limit, running }: GroupState): string {
  const named = running.slice(0, MAX_NAMED).join(', ')
  const more = running.length > MAX_NAMED ? ` and ${running.length - MAX_NAMED} more` : ''
  const who = running.length === 0 ? '' : ` (${running.length === 1 ? 'job' : 'jobs'} ${named}${more})`
  return `in the group '${name}' only ${limit} ${limit === 1 ? 'job' : 'jobs'} may run at once${who}`
}
