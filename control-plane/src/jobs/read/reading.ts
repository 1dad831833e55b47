import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { parseKept, textOfKept } from '@holdfast/protocol'
import type { Caller } from '../../auth/sessions/caller.js'
import { isoTime } from '../../time/clock.js'
import { InvalidInputError, NotFoundError } from '../../errors.js'
import { isDeeperThan } from '../../texts/value-levels.js'
import { type WrittenRecords, writtenRecords } from '../../ground/written-records.js'
import { countAwaitedApprovals, listAwaitingJobs } from '../../store/jobs/approvals.js'
import { findEvent } from '../../store/jobs/job-events.js'
import { readOutput } from '../../store/jobs/job-output.js'
import { type JobListRow, shownFields } from '../../store/jobs/job-fields.js'
import { type JobFilter, listJobs } from '../../store/jobs/job-list.js'
import { type JobRow, findJob, findSubjobs } from '../../store/jobs/jobs.js'
import { objectOfColumn } from '../../store/sql/json-columns.js'
import type { Queries } from '../../store/store.js'
import { approvalOf, giverOf } from '../record/approval.js'
import { type RunnerPresence, type RunnersOfJobs, detailOf, isConnected, runnersOf } from './connected.js'
import { maskValues } from '../secrets/masking.js'
import { htmlText, plainOutput } from './output-text.js'
import { passwordFieldsOf } from '../record/password-fields.js'
import { extravarsOf } from '../record/playbook.js'
import { requireVisible, seesAllJobs } from '../record/visibility.js'

/** Number of jobs of a list that are converted at once. */
const RECORDS_PER_PAGE = 250

/** Most jobs of a list that gets an entity tag. */
export const MAX_TAGGED = 1000

/** What the functions that show jobs need of other parts. */
export interface JobReading {
  readonly queries: Queries
  /** MASK_EXTRAVARS_REGEX, compiled. */
  readonly maskPattern: RegExp
  /** JOBS_LIST_SIZE. */
  readonly listSize: number
  /** The password fields of a form as it is now. Empty for a form that is gone. */
  readonly passwordFieldsOf: (form: string) => Promise<ReadonlySet<string>>
  readonly runners: RunnerPresence
}

/** One record of a list: the fields of its row, and what is computed from the row. */
function recordOf(job: JobListRow, runners: RunnersOfJobs) {
  return shownFields(job, {
    detail: detailOf(job, runners),
    approval: approvalRecordOf(job),
    connected: isConnected(job, runners.connections),
    schedule: job.schedule_id === null ? null : { id: job.schedule_id, name: job.schedule_name ?? '' },
  })
}

/** The approval of a job or workflow node, as the interface shows it. */
export function approvalRecordOf(job: { readonly approval: string | null }) {
  const approval = approvalOf(job)
  if (!approval) return null
  const { decided_by_id: _account, message_text: _text, ...shown } = approval
  return { ...shown, decided_at: isoTime(approval.decided_at) }
}

/** In which form the output of a job is wanted. */
export type OutputForm = 'text' | 'html' | 'none'

const outputAs: Record<OutputForm, (queries: Queries, id: number) => AsyncIterable<string>> = {
  text: (queries, id) => plainOutput(readOutput(queries, id, 0)),
  html: (queries, id) => htmlText(readOutput(queries, id, 0)),
  none: () => plainOutput(Readable.from([])),
}

/**
 * A job with its extra variables (masked). Its output comes separately, because it may be very large and is read slice
 * by slice.
 * @throws NotFoundError, ForbiddenError
 */
export async function readJob(reading: JobReading, caller: Caller, id: number, form: OutputForm) {
  const { queries } = reading
  await requireVisible(queries, caller, id)
  const job = await findJob(queries, id)
  if (!job) throw new NotFoundError('job_not_found', `There is no job ${id}`)
  const extravars = await maskedFor(reading, job, extravarsOf(job))
  return {
    job: {
      ...recordOf(job, await runnersOf(reading.runners, [job])),
      extravars,
      payload: extravars,
      credentials: objectOfColumn(job.credentials),
      subjobs: await findSubjobs(queries, id),
    },
    output: outputAs[form](queries, id),
  }
}

/** The values of a job as people may see them. */
export async function maskedFor(
  reading: Pick<JobReading, 'maskPattern' | 'passwordFieldsOf'>,
  job: Pick<JobRow, 'form' | 'password_fields'>,
  values: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  // The password fields of the form at the time of the launch count, too. The form may have been changed or removed
  // since.
  const passwordFields = new Set([...(await reading.passwordFieldsOf(job.form)), ...passwordFieldsOf(job)])
  return maskValues(values, reading.maskPattern, passwordFields) as Record<string, unknown>
}

/** A list of jobs that somebody asks for. */
export interface ListRequest {
  readonly records: string | undefined
  /** List only jobs that wait for an approval which the caller may give. */
  readonly waiting: boolean
  readonly filter: Omit<JobFilter, 'visibleTo'>
}

/** A page of a list of jobs. */
export interface JobPage {
  /** The records, in portions. */
  readonly portions: Iterable<WrittenRecords>
  /** The next page has the jobs before this one; null: there are no more. */
  readonly next: number | null
  /** A tag that changes whenever the content of the page changes. Null: the page is too long to have one. */
  readonly tag: string | null
}

/** The jobs that the caller may see, newest first. No filter shows more than that. */
export async function readJobs(reading: JobReading, caller: Caller, request: ListRequest): Promise<JobPage> {
  const { records, next } = await readRecords(reading, caller, request)
  const portions = writtenPortions(records)
  if (records.count > MAX_TAGGED) return { portions, next, tag: null }
  const written: WrittenRecords[] = []
  for (const portion of portions) {
    written.push(portion)
    await letOthersRun()
  }
  return { portions: written, next, tag: recordsTag(written) }
}

/** A tag of the records of a list. It changes whenever one of them changes. */
export function recordsTag(portions: readonly WrittenRecords[]): string {
  const hash = createHash('sha256')
  for (const { text } of portions) hash.update(text).update('\n')
  return hash.digest('base64url')
}

/** The records of a list of jobs, which are made when they are asked for, and where the list goes on. */
export async function readRecords(reading: JobReading, caller: Caller, request: ListRequest) {
  const visibleTo = seesAllJobs(caller) ? undefined : { id: caller.id, name: caller.username, type: caller.type }
  const filter: JobFilter = { ...request.filter, visibleTo }
  const limit = listLimit(request.records, reading.listSize)
  const jobs = request.waiting
    ? await listAwaitingJobs(reading.queries, giverOf(caller), filter, limit)
    : await visibleJobs(reading.queries, caller, filter, limit)
  const runners = await runnersOf(reading.runners, jobs)
  return {
    records: {
      count: jobs.length,
      part: (from: number, to: number) => jobs.slice(from, to).map((job) => recordOf(job, runners)),
    },
    next: jobs.length < limit ? null : (jobs.at(-1)?.id ?? null),
  }
}

/** Writes the records of a list in portions, because a list may have thousands. */
function* writtenPortions({ count, part }: Awaited<ReturnType<typeof readRecords>>['records']) {
  for (let from = 0; from < count; from += RECORDS_PER_PAGE) yield writtenRecords(part(from, from + RECORDS_PER_PAGE))
}

/**
 * The caller's own jobs and the jobs to approve each come from an index. One query for both would have to read every
 * job.
 */
async function visibleJobs(queries: Queries, caller: Caller, filter: JobFilter, limit: number) {
  const jobs = await listJobs(queries, filter, limit)
  if (!filter.visibleTo) return jobs
  const oldest = jobs.length < limit ? undefined : jobs.at(-1)?.id
  return newestOf([...jobs, ...(await listAwaitingJobs(queries, giverOf(caller), filter, limit, oldest))], limit)
}

/** The first jobs of several lists, each job once, newest first. */
function newestOf(jobs: readonly JobListRow[], limit: number): JobListRow[] {
  const byId = new Map(jobs.map((job) => [job.id, job]))
  return [...byId.values()].sort((one, other) => other.id - one.id).slice(0, limit)
}

/** How many jobs wait for an approval that the caller may give. */
export function countApprovals(reading: JobReading, caller: Caller): Promise<number> {
  return countAwaitedApprovals(reading.queries, giverOf(caller))
}

/**
 * How many records a list may have. Without a number it is the default. Otherwise it is at least 1 and at most 5000, or
 * at most the default if that is higher. Never throws.
 */
function listLimit(records: string | undefined, listSize: number): number {
  const asked = records === undefined || records.trim() === '' ? Number.NaN : Math.trunc(Number(records))
  if (!Number.isFinite(asked) || asked === 0) return listSize
  return Math.min(Math.max(asked, 1), Math.max(5000, listSize))
}

/**
 * One event with its whole result, as the text of a JSON object. So numbers stay as the playbook wrote them. JavaScript
 * would change long ones.
 * @throws NotFoundError, ForbiddenError, InvalidInputError for a broken order
 */
export async function readEvent(reading: JobReading, caller: Caller, id: number, orderText: string) {
  await requireVisible(reading.queries, caller, id)
  if (!/^[+-]?\d+$/.test(orderText)) throw new InvalidInputError('order_not_a_number', 'order must be a whole number')
  const order = Number(orderText)
  const row = Number.isSafeInteger(order) ? await findEvent(reading.queries, id, order) : null
  if (!row) throw new NotFoundError('event_not_found', `Job ${id} has no event ${orderText}`)
  const { line, position, job_id: _, ...event } = row
  const { extras, mark } = extrasOf(line)
  return textOfKept({ ...extras, ...event, order: position }, mark)
}

/**
 * Deepest event that is shown as JSON. Writing JSON needs stack for each level. The event callback stays far below this
 * depth.
 */
const MAX_DEPTH = 500

/**
 * The fields of an event's line that lists do not have, such as its result. A line that cannot be parsed is shown as it
 * is.
 */
function extrasOf(line: Buffer): { readonly extras: Record<string, unknown>; readonly mark: string | null } {
  try {
    const { value, mark } = parseKept(line.toString('utf8'))
    if (typeof value === 'object' && value !== null && !isDeeperThan(value, MAX_DEPTH)) {
      const { order: _, result, ...extras } = value as Record<string, unknown>
      return { extras: { ...extras, result: result ?? null }, mark }
    }
  } catch {
    // The line is no JSON: it is cut, or a playbook wrote it. It was stored byte by byte, and is shown in the same way.
  }
  return { extras: { result: { unreadable: line.toString('utf8') } }, mark: null }
}

/** The whole output as plain text, slice by slice. @throws NotFoundError, ForbiddenError */
export async function readPlainOutput(
  reading: JobReading,
  caller: Caller,
  id: number,
): Promise<AsyncGenerator<string>> {
  await requireVisible(reading.queries, caller, id)
  return plainOutput(readOutput(reading.queries, id, 0))
}
