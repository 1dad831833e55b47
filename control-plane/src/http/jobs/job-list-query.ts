import { type Static, type TOptional, type TString, Type } from 'typebox'
import { InvalidInputError } from '../../errors.js'
import { JOB_STATUSES, type JobStatus } from '../../words/job-status.js'
import { shownUsername } from '../../store/accounts/users.js'
import { type FilterName, JOB_FILTERS } from '../../store/jobs/job-fields.js'
import type { ListRequest } from '../../jobs/read/reading.js'
import { USER_TYPES } from '../../words/user-type.js'
import { booleanText, integerText, wholeNumberOf } from '../route/schemas.js'

const FILTER_NAMES = Object.keys(JOB_FILTERS) as FilterName[]

/** The filters by one value of a field. */
const FIELD_FILTERS = Object.fromEntries(
  FILTER_NAMES.map((name) => [name, Type.Optional(Type.String({ description: JOB_FILTERS[name].filter }))]),
) as Record<FilterName, TOptional<TString>>

/** The query of a list of jobs. */
export const ListQuery = Type.Object({
  records: Type.Optional(
    integerText('Most jobs to answer: JOBS_LIST_SIZE when left out, at most 5000 or JOBS_LIST_SIZE if that is higher'),
  ),
  user: Type.Optional(Type.String({ description: 'Only the jobs of this user' })),
  user_type: Type.Optional(Type.Enum(USER_TYPES, { description: 'Kind of that user: local when left out' })),
  runner: Type.Optional(Type.String({ description: 'Only the jobs that ran on this runner' })),
  waiting: Type.Optional(booleanText('true for only the jobs that wait for an approval which the caller may give')),
  before: Type.Optional(integerText('Only jobs with a lower id: the header Link of the page before has it')),
  status: Type.Optional(
    Type.String({ description: `Only jobs with one of these, with commas: ${JOB_STATUSES.join()}` }),
  ),
  queued: Type.Optional(
    booleanText('true for only the jobs of status running that no runner has yet, false for all but these'),
  ),
  ...FIELD_FILTERS,
  q: Type.Optional(
    Type.String({
      description: 'Only jobs with this text in form, target, user, runner or reason, or with this number',
    }),
  ),
  parts: Type.Optional(booleanText('false leaves out the jobs that belong to a parent job')),
  place: Type.Optional(
    booleanText('true to be told where the newest jobs are that have not ended, 20 at most, and what is left of them'),
  ),
  from: Type.Optional(Type.String({ description: 'Only jobs that started then or later, ISO 8601' })),
  to: Type.Optional(Type.String({ description: 'Only jobs that started before, ISO 8601' })),
})

/** The filters of a query. @throws InvalidInputError that names the parameter */
export function listRequestOf(query: Static<typeof ListQuery>): ListRequest {
  const { records, user, user_type: userType, runner, waiting, before, status, queued, q, parts, from, to } = query
  return {
    records,
    waiting: waiting === 'true',
    filter: {
      user: user === undefined ? undefined : { name: shownUsername(user), type: userType ?? 'local' },
      runner,
      values: Object.fromEntries(FILTER_NAMES.map((name) => [name, query[name]])),
      before: before === undefined ? undefined : wholeNumberOf(before, 'before'),
      statuses: status === undefined ? undefined : statusesOf(status),
      queued: queued === undefined ? undefined : queued === 'true',
      text: q === '' ? undefined : q,
      parts: parts === 'false' ? false : undefined,
      startedFrom: timeOf(from, 'from'),
      startedBefore: timeOf(to, 'to'),
    },
  }
}

function statusesOf(text: string): JobStatus[] {
  return text.split(',').map((word) => {
    const status = JOB_STATUSES.find((known) => known === word)
    if (status) return status
    throw new InvalidInputError('invalid_status', `status must be of ${JOB_STATUSES.join(', ')}`, { status: text })
  })
}

/** Milliseconds since the epoch. */
function timeOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new InvalidInputError(`invalid_${name}`, `${name} must be a time as of ISO 8601`)
  return time
}
