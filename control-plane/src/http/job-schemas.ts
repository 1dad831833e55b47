import { Type } from 'typebox'
import { USER_TYPES } from '../auth/caller.js'
import { JOB_STATUSES } from '../jobs/status.js'
import { integerText, nullable } from './schemas.js'

const AnyObject = Type.Record(Type.String(), Type.Unknown())

const recordFields = {
  id: Type.Integer(),
  form: Type.String(),
  target: Type.String({ description: 'The form, or the step or node of a subjob' }),
  job_type: Type.String(),
  status: Type.Enum(JOB_STATUSES, { title: 'JobStatus' }),
  status_reason: nullable(Type.String({ description: 'Why it failed, was aborted or abandoned' })),
  detail: nullable(Type.String({ description: 'What the status does not say, such as missing events' })),
  start: Type.String({ format: 'date-time' }),
  end: nullable(Type.String({ format: 'date-time' })),
  user: Type.String(),
  user_type: Type.String(),
  runner: nullable(Type.String()),
  parent_id: nullable(Type.Integer()),
  step: nullable(Type.String()),
  approval: nullable(AnyObject),
  abort_requested: Type.Boolean(),
  abandoned_at: nullable(
    Type.String({ format: 'date-time', description: 'Stays when the real outcome arrives later' }),
  ),
}

/** A job in a list. */
export const JobRecord = Type.Object(recordFields, { title: 'JobRecord' })

/** A job with extra variables and output. */
export const Job = Type.Object(
  {
    ...recordFields,
    extravars: AnyObject,
    payload: Type.Record(Type.String(), Type.Unknown(), { description: 'The same object as extravars' }),
    credentials: Type.Record(Type.String(), Type.Unknown(), { description: 'Names of the credentials' }),
    subjobs: Type.Array(Type.Integer()),
    output: Type.String({ description: 'HTML with colours, or plain text with text=true' }),
  },
  { title: 'Job' },
)

/** The answer of a launch. */
export const Launched = Type.Object({ id: Type.Integer({ description: 'Of the new job' }) }, { title: 'Launched' })

/** The body of a launch. */
export const LaunchBody = Type.Object(
  {
    formName: Type.String({ minLength: 1, maxLength: 200 }),
    extravars: Type.Optional(AnyObject),
    payload: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Another name for extravars' })),
    rawFormData: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Values of the fields by name; in a wizard, an object of values by step',
      }),
    ),
    credentials: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Names of credentials by the variables and credential fields of the form; others are dropped. ' +
          'Under LAUNCH_VALIDATION=enforce none counts: they come from the form and the values of its fields',
      }),
    ),
    files: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'By file field: what its upload was answered with' }),
    ),
  },
  { title: 'Launch' },
)

const eventFields = {
  order: Type.Integer({ description: '1, 2, 3 … within the job' }),
  type: Type.String(),
  play: nullable(Type.String()),
  task: nullable(Type.String()),
  host: nullable(Type.String()),
  duration: nullable(Type.Number({ description: 'Seconds' })),
  time: Type.String({ format: 'date-time' }),
}

/** A structured event in a list. */
export const EventRecord = Type.Object(eventFields, { title: 'JobEventRecord' })

/** One event with its whole result, and what else the runner said of it. */
export const Event = Type.Object(
  { ...eventFields, result: Type.Unknown() },
  { title: 'JobEvent', additionalProperties: true },
)

export const ListQuery = Type.Object({
  records: Type.Optional(
    integerText('Most jobs to answer: JOBS_LIST_SIZE when left out, at most 5000 or JOBS_LIST_SIZE if that is higher'),
  ),
  user: Type.Optional(Type.String({ description: 'Only the jobs of this user' })),
  user_type: Type.Optional(Type.Enum(USER_TYPES, { description: 'Kind of that user: local when left out' })),
  runner: Type.Optional(Type.String({ description: 'Only the jobs that ran on this runner' })),
})

export const EventsQuery = Type.Object({
  after: Type.Optional(integerText('Only events with a higher order')),
  limit: Type.Optional(integerText('Most events to answer')),
})
