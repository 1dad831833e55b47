import type { Selectable } from 'kysely'
import { type Static, type TOptional, type TSchema, Type } from 'typebox'
import { isoTime } from '../../time/clock.js'
import { JOB_STATUSES } from '../../words/job-status.js'
import { JOB_TYPES } from '../../words/job-type.js'
import { nullable } from '../../words/nullable.js'
import { USER_TYPES } from '../../words/user-type.js'
import type { JobTable } from '../schema/jobs.js'
import type { NewJob } from './new-job.js'

type Columns = Selectable<JobTable>

/** What else a field can do. */
interface Uses {
  /** Lists can be limited to jobs with one value of it. The sentence is for the document of the interface. */
  readonly filter?: string
  /** The text search of lists looks into it. */
  readonly isSearched?: true
  /** It is optional in the document, so that a newer client understands a service that has no such field yet. */
  readonly isLater?: true
  /** Whoever launches the job may set it, with this schema. The column must be nullable. */
  readonly atLaunch?: TSchema
}

/** A field that shows its column as it is. @param shown its schema and sentence in the REST interface */
function asIs<Column extends keyof Columns, Shown extends TSchema, const Use extends Uses = object>(
  column: Column,
  shown: Shown,
  uses?: Use,
) {
  const field = { column, row: shown as TSchema, shown, show: (value: Columns[Column]) => value as Static<Shown> }
  return { ...field, ...uses } as typeof field & Use
}

/** A column that allows only a few words. */
function word<Column extends keyof Columns>(column: Column, words: readonly string[]) {
  return { ...asIs(column, Type.String()), row: Type.Enum([...words]) as TSchema }
}

/** A time: milliseconds in the column, ISO 8601 in the interface. */
function time<Column extends keyof Columns>(column: Column) {
  const shown = Type.String({ format: 'date-time' })
  return { column, row: Type.Integer() as TSchema, shown, show: (value: number) => isoTime(value) }
}

/** A time that may not have come. */
function timeOrNull<Column extends keyof Columns>(column: Column, description?: string) {
  const shown = nullable(Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) }))
  return { column, row: nullable(Type.Integer()) as TSchema, shown, show: (value: number | null) => isoTime(value) }
}

/** True or false: 1 or 0 in the column. */
function flag<Column extends keyof Columns>(column: Column) {
  return { column, row: Type.Integer() as TSchema, shown: Type.Boolean(), show: (value: number) => value === 1 }
}

const textOrNull = (description?: string) => nullable(Type.String(description === undefined ? {} : { description }))

/**
 * The fields of a job that come from its row, by their names in the REST interface. Lists and single jobs show them.
 * From this table come the columns that a list reads, their check, the record, the schema of the interface with its
 * sentences, the filters and the text search. A new field needs a column (`schema/jobs.ts`, a migration) and an entry.
 */
const JOB_FIELDS = {
  id: asIs('id', Type.Integer()),
  form: asIs('form', Type.String(), { isSearched: true, filter: 'Only jobs of the form with this name' }),
  target: asIs('target', Type.String({ description: 'The form, or the step or node of a subjob' }), {
    isSearched: true,
  }),
  job_type: word('job_type', JOB_TYPES),
  status: asIs('status', Type.Enum(JOB_STATUSES, { title: 'JobStatus' })),
  status_reason: asIs('status_reason', textOrNull('Why it failed, was aborted or abandoned'), { isSearched: true }),
  /** What people see also says whether the job still runs (`jobs/read/connected.ts`). */
  detail: asIs('detail', textOrNull('What the status does not say, such as missing events')),
  start: time('start_time'),
  end: timeOrNull('end_time'),
  user: asIs('user_name', Type.String(), { isSearched: true }),
  user_type: word('user_type', USER_TYPES),
  runner: asIs('runner_name', textOrNull(), { isSearched: true }),
  parent_id: asIs('parent_id', nullable(Type.Integer())),
  step: asIs('step', textOrNull()),
  /** The interface shows it as an object (`jobs/read/reading.ts`). */
  approval: asIs('approval', textOrNull()),
  abort_requested: flag('abort_requested'),
  abandoned_at: timeOrNull('abandoned_at', 'Stays when the real outcome arrives later'),
  run_id: asIs(
    'run_id',
    Type.String({
      description:
        'Random name of the run of the job; it is unique even if a restored database has given the number again',
    }),
    { isLater: true },
  ),
  adopted_at: {
    ...timeOrNull(
      'adopted_at',
      'When the job was adopted: it was made from what its runner had, because the database did not know it',
    ),
    isLater: true,
  },
}

/** Columns that a list also needs, because other fields are computed from them. */
const OTHER_COLUMNS = {
  runner_id: nullable(Type.Integer()),
  schedule_id: nullable(Type.Integer()),
  schedule_name: textOrNull(),
  held_epoch: nullable(Type.Integer()),
} satisfies { readonly [Column in keyof Columns]?: TSchema }

type Fields = typeof JOB_FIELDS
type FieldName = keyof Fields
type ListColumn = Fields[FieldName]['column'] | keyof typeof OTHER_COLUMNS

/** The columns of a job in a list: everything that a list shows, without the long texts. */
export type JobListRow = Readonly<Pick<Columns, ListColumn>>

/** The fields of {@link JOB_FIELDS} with their values. */
export type JobFields = { readonly [Name in FieldName]: ReturnType<Fields[Name]['show']> }

/** The names of the fields that limit a list to jobs with one value. */
export type FilterName = { [Name in FieldName]: Fields[Name] extends { filter: string } ? Name : never }[FieldName]

interface AnyField extends Uses {
  readonly column: ListColumn
  readonly row: TSchema
  readonly shown: TSchema
  readonly show: (value: never) => unknown
}
const ENTRIES = Object.entries(JOB_FIELDS) as readonly (readonly [FieldName, AnyField])[]

/** The columns that a list reads, with the check of each. */
export const LIST_COLUMNS = {
  ...Object.fromEntries(ENTRIES.map(([, { column, row }]) => [column, row])),
  ...OTHER_COLUMNS,
} as unknown as Readonly<Record<ListColumn, TSchema>>

/** The columns that the text search looks into. */
export const SEARCHED_COLUMNS = ENTRIES.filter(([, field]) => field.isSearched).map(([, { column }]) => column)

/** The filters by one value: the column, and the sentence for the document. */
export const JOB_FILTERS = Object.fromEntries(
  ENTRIES.flatMap(([name, { column, filter }]) => (filter === undefined ? [] : [[name, { column, filter }]])),
) as Readonly<Record<FilterName, { readonly column: ListColumn; readonly filter: string }>>

/** The fields that whoever launches a job may set, as the body of a launch has them. */
export const LAUNCH_FIELDS = Object.fromEntries(
  ENTRIES.flatMap(([name, { atLaunch }]) => (atLaunch ? [[name, Type.Optional(nullable(atLaunch))]] : [])),
) as Readonly<Record<string, TOptional<TSchema>>>

/** The columns of a new job that its launch sets. @param body the body of the launch, checked */
export function launchColumns(body: Readonly<Record<string, unknown>>): Partial<NewJob> {
  const set = ENTRIES.flatMap(([name, { column, atLaunch }]) => (atLaunch ? [[column, body[name] ?? null]] : []))
  return Object.fromEntries(set) as Partial<NewJob>
}

/** The schemas of the fields in the REST interface. */
export const FIELD_SCHEMAS = Object.fromEntries(
  ENTRIES.map(([name, { shown, isLater }]) => [name, isLater ? Type.Optional(shown) : shown]),
) as {
  readonly [Name in FieldName]: Fields[Name]['shown']
}

/**
 * The fields of a job as the REST interface shows them, and more that are computed from its row.
 * @param more replaces fields of the same name
 */
export function shownFields<More extends object>(row: JobListRow, more: More): Omit<JobFields, keyof More> & More {
  return Object.assign(fieldsOf(row), more) as unknown as Omit<JobFields, keyof More> & More
}

/**
 * Makes the record of a row: one object literal, written from the table. A list has thousands of records. A loop over the
 * table takes twice as long for each, and the whole list a fifth more.
 */
const fieldsOf = compiledFields()

function compiledFields(): (row: JobListRow) => Record<string, unknown> {
  const shows = ENTRIES.map(([, { show }]) => show)
  // Names and columns are words of the table above, so nothing that came from outside becomes a program.
  const literal = ENTRIES.map(([name, { column }], index) => `${name}: show${index}(row.${column})`).join(', ')
  // oxlint-disable-next-line no-new-func -- the same way as typebox compiles the checks of these rows
  const make = new Function(...shows.map((_, index) => `show${index}`), `return (row) => ({ ${literal} })`) as (
    ...given: typeof shows
  ) => (row: JobListRow) => Record<string, unknown>
  return make(...shows)
}
