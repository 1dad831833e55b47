import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '../../auth/sessions/caller.js'
import { isoTime } from '../../time/clock.js'
import { NotFoundError } from '../../errors.js'
import { findLastGoodRun } from '../../store/jobs/earlier-runs.js'
import { type JobRow, findJob } from '../../store/jobs/jobs.js'
import { findNodes } from '../../store/jobs/sequences.js'
import type { Queries } from '../../store/store.js'
import { compareCourses } from '../course/compare-courses.js'
import type { Courses } from '../course/courses.js'
import { type JobReading, maskedFor } from '../read/reading.js'
import { passwordFieldsOf } from '../record/password-fields.js'
import { extravarsOf } from '../record/playbook.js'
import { isEnded, jobStatusOf } from '../record/status.js'
import { requireVisible, seesAllJobs } from '../record/visibility.js'
import { isPlainObject } from '../../forms/values/plain.js'

/** Most variables that are listed one by one. */
const MAX_VALUES = 1000

/** What this needs of other parts. */
export interface CompareDependencies {
  readonly reading: JobReading
  readonly courses: Courses
}

/**
 * What differs between a job and another one: the last one of its form before it that succeeded, or the one that is
 * asked for. The caller has to be allowed to read both. Secrets are masked before they are compared.
 * @param withId null: the last good run
 * @throws NotFoundError, ForbiddenError
 */
export async function readComparison(
  { reading, courses }: CompareDependencies,
  caller: Caller,
  id: number,
  withId: number | null,
) {
  const { queries } = reading
  const job = await readVisible(queries, caller, id)
  const other = await readVisible(queries, caller, withId ?? (await lastGoodRun(queries, caller, job)))
  const values = valueChangesOf(await shownValues(reading, job, other), await shownValues(reading, other, job))
  // One after the other: courses are read whole.
  const run = { course: await courses.of(job.id), isOver: isEnded(jobStatusOf(job.status)) }
  const otherRun = { course: await courses.of(other.id), isOver: isEnded(jobStatusOf(other.status)) }
  return {
    job: headOf(job),
    with: headOf(other),
    extravars: {
      count: values.length,
      records: values.slice(0, MAX_VALUES).map(({ path, change, value, other: otherValue }) => {
        return { path: [...path], change, value, with_value: otherValue }
      }),
    },
    ...(await compareCourses(run, otherRun)),
    steps: await compareSteps(queries, job.id, other.id),
  }
}

async function readVisible(queries: Queries, caller: Caller, id: number): Promise<JobRow> {
  await requireVisible(queries, caller, id)
  const job = await findJob(queries, id)
  if (!job) throw new NotFoundError('job_not_found', `There is no job ${id}`)
  return job
}

async function lastGoodRun(queries: Queries, caller: Caller, job: JobRow): Promise<number> {
  const found = await findLastGoodRun(queries, job, seesAllJobs(caller) ? null : caller.id)
  if (found !== null) return found
  throw new NotFoundError('no_run_to_compare', `No earlier run of '${job.target}' that you may see has succeeded`)
}

/** The variables of a job but its id. What must not be shown of one of the two jobs is shown of neither. */
async function shownValues(reading: JobReading, job: JobRow, other: JobRow): Promise<Record<string, unknown>> {
  const fields = [...new Set([...passwordFieldsOf(job), ...passwordFieldsOf(other)])]
  const shown = await maskedFor(reading, { form: job.form, password_fields: JSON.stringify(fields) }, extravarsOf(job))
  const { __jobid__: _, ...values } = shown
  return values
}

function headOf(job: JobRow) {
  const { id, form, target, user_name: user, user_type, runner_name: runner } = job
  const times = { start: isoTime(job.start_time), end: isoTime(job.end_time) }
  return { id, form, target, status: jobStatusOf(job.status), ...times, user, user_type, runner }
}

/** The steps or nodes of both jobs by their names; none for jobs that do not consist of other jobs. */
async function compareSteps(queries: Queries, id: number, otherId: number) {
  const nodes = await findNodes(queries, id)
  const others = new Map((await findNodes(queries, otherId)).map((node) => [node.identifier, node]))
  const pairs = [
    ...nodes.map((node) => [node, others.get(node.identifier) ?? null] as const),
    ...[...others.values()]
      .filter(({ identifier }) => !nodes.some((node) => node.identifier === identifier))
      .map((other) => [null, other] as const),
  ]
  return pairs.map(([node, other]) => ({
    identifier: node?.identifier ?? other?.identifier ?? '',
    status: node?.status ?? null,
    with_status: other?.status ?? null,
    job: node?.subjob_id ?? null,
    with_job: other?.subjob_id ?? null,
    seconds: secondsOf(node),
    with_seconds: secondsOf(other),
  }))
}

function secondsOf(node: { readonly start_time: number | null; readonly end_time: number | null } | null) {
  if (!node || node.start_time === null || node.end_time === null) return null
  return Math.max(0, node.end_time - node.start_time) / 1000
}

/** A value that differs between two objects. */
export interface ValueChange {
  /** The keys that lead to it. */
  readonly path: readonly string[]
  /** Which of the objects has it. `added`: only the first one has it. */
  readonly change: 'added' | 'removed' | 'changed'
  /** The value in the first object, and in the second one; null where it is missing. */
  readonly value: unknown
  readonly other: unknown
}

type Values = Readonly<Record<string, unknown>>

/**
 * The differences between two objects, by key. If both values are objects, their keys are compared. Lists are compared
 * as a whole.
 */
function valueChangesOf(one: Values, other: Values, path: readonly string[] = []): ValueChange[] {
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort()
  return keys.flatMap((key): ValueChange[] => {
    const [isInOne, isInOther] = [Object.hasOwn(one, key), Object.hasOwn(other, key)]
    const here = { path: [...path, key], value: isInOne ? one[key] : null, other: isInOther ? other[key] : null }
    if (!isInOther) return [{ ...here, change: 'added' }]
    if (!isInOne) return [{ ...here, change: 'removed' }]
    if (isPlainObject(here.value) && isPlainObject(here.other)) return valueChangesOf(here.value, here.other, here.path)
    return isDeepStrictEqual(here.value, here.other) ? [] : [{ ...here, change: 'changed' }]
  })
}
