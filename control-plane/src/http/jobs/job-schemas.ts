import { Type } from 'typebox'
import { detailFields, listedFields } from './job-detail-schemas.js'
import { booleanText, listOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'
import { PLAN_NODE_TYPES } from '../../jobs/record/sequence-port.js'
import { NODE_TYPES } from '../../sequences/workflows/workflow.js'
import { NODE_STATUSES } from '../../words/node-status.js'
import { FIELD_SCHEMAS, LAUNCH_FIELDS } from '../../store/jobs/job-fields.js'

const AnyObject = Type.Record(Type.String(), Type.Unknown())

/** Values by name, or null for none. */
const valuesOrNull = (description: string) => nullable(Type.Record(Type.String(), Type.Unknown(), { description }))

/** What `files` of a launch holds. */
const FILES_TEXT =
  'By file field: the answer to its upload. The key of a field is its name; in a wizard step `step.field` (or its name, ' +
  'when only one step has such a field); in a row of a list `list[0].field`. A row may have the answer to its upload as the ' +
  'value of its file field instead'

const sha256 = (description: string) => nullable(Type.String({ description }))

/** The approval that a job waits for or got last. */
const Approval = Type.Object({
  title: nullable(Type.String()),
  message: nullable(
    Type.String({ description: 'With the markup (HTML) of its author. Values are text: they are escaped' }),
  ),
  roles: Type.Array(Type.String(), { description: 'Who may give it, beside admins; default means everyone' }),
  notifications: Type.Array(Type.String()),
  allowSelf: Type.Boolean({ description: 'Whoever launched the job may give it, too' }),
  state: Type.Enum(['waiting', 'approved', 'rejected']),
  decided_by: nullable(Type.String()),
  decided_by_type: nullable(Type.String()),
  decided_at: nullable(Type.String({ format: 'date-time' })),
  subject: Type.Object(
    {
      manifest_sha256: sha256('Hash of the manifest of the playbook folder; null: it could not be read'),
      form_sha256: sha256('Of the form with its subforms, constants and workflows; null: the form was gone'),
    },
    { description: 'The form and the files that the approval is about' },
  ),
  forced: Type.Boolean({
    description: 'It was given although the form or the files had changed since it was asked for',
  }),
})

const recordFields = {
  ...FIELD_SCHEMAS,
  approval: nullable(Approval),
  // Optional in the document, so that a newer client understands an older service.
  connected: Type.Optional(
    Type.Boolean({ description: 'The runner of the job is connected and has it: an abandoned job then still runs' }),
  ),
  schedule: Type.Optional(
    nullable(
      Type.Object(
        { id: Type.Integer(), name: Type.String() },
        { description: 'The schedule that started it; null: a person or its parent job started it' },
      ),
    ),
  ),
}

/** A job in a list. */
const JobRecord = Type.Object({ ...recordFields, ...listedFields }, { title: 'JobRecord' })

/** A page of a list of jobs. */
export const JobList = listOf(JobRecord)

/** A job with extra variables and output. */
export const Job = Type.Object(
  {
    ...recordFields,
    ...detailFields,
    extravars: AnyObject,
    payload: Type.Record(Type.String(), Type.Unknown(), { description: 'The same object as extravars' }),
    credentials: Type.Record(Type.String(), Type.Unknown(), { description: 'Names of the credentials' }),
    subjobs: Type.Array(Type.Integer()),
    output: Type.String({ description: 'HTML with colours, or plain text with text=true' }),
  },
  { title: 'Job' },
)

/** The answer of a launch. */
export const LaunchAnswer = Type.Object(
  {
    id: Type.Integer({ description: 'Of the new job' }),
    unknown_fields: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Present only when values were sent that belong to no field (LAUNCH_UNKNOWN_FIELDS=warn or ignore)',
      }),
    ),
  },
  { title: 'Launched' },
)

/** The body of an approval; it may be left out. */
export const ApproveBody = nullable(
  Type.Object({
    force: Type.Optional(Type.Boolean({ description: 'Approve what is there now, although it has changed' })),
  }),
)

/** The query of an approval. */
export const ApproveQuery = Type.Object({
  force: Type.Optional(booleanText('true: approve what is there now, although it has changed')),
})

/** The query of an abort. */
export const AbortQuery = Type.Object({
  abandoned: Type.Optional(booleanText('true: also a job that is abandoned; its runner hears of it when it is there')),
})

const Identifiers = Type.Array(Type.String())

/** A node of a workflow job. */
export const JobNodeRecord = Type.Object({
  node: Type.Object({
    identifier: Type.String(),
    name: Type.String({ description: 'The playbook, the other workflow, or what the approval asks' }),
    type: Type.Enum(NODE_TYPES),
    status: Type.Enum(NODE_STATUSES),
    reason: nullable(Type.String({ description: 'Why it failed, was skipped or did not run' })),
    start: nullable(Type.String({ format: 'date-time' })),
    end: nullable(Type.String({ format: 'date-time' })),
    links: Type.Object(
      { success: Identifiers, failure: Identifiers, always: Identifiers },
      { description: 'The nodes that follow, by when' },
    ),
    approval: nullable(Approval),
  }),
  job: nullable(Type.Integer({ description: 'The job of the node; null when it did not run' })),
  extravars: AnyObject,
  artifacts: Type.Record(Type.String(), Type.Unknown(), { description: 'What it published with set_stats' }),
})

/** A step of a multistep job or a node of a workflow job, in a list. */
export const NodeRecord = Type.Object(
  {
    identifier: Type.String(),
    name: Type.String({ description: 'The playbook, the other workflow, or what the approval asks' }),
    type: Type.Enum(PLAN_NODE_TYPES),
    links: Type.Object(
      { success: Identifiers, failure: Identifiers, always: Identifiers },
      { description: 'The nodes that follow, by when' },
    ),
    all_parents: Type.Boolean({
      description: 'It starts when all links into it have fired, and not already with the first one',
    }),
    status: Type.Enum(NODE_STATUSES),
    reason: nullable(Type.String({ description: 'Why it failed, was skipped or did not run' })),
    start: nullable(Type.String({ format: 'date-time' })),
    end: nullable(Type.String({ format: 'date-time' })),
    job: nullable(Type.Integer({ description: 'Its job; null: it has none, or none any more' })),
    // Optional in the document, so that a newer client understands an older service.
    began: Type.Optional(
      nullable(
        Type.String({
          format: 'date-time',
          description: 'When its job began, as the job itself says it. Null: it waits, or has no job',
        }),
      ),
    ),
  },
  { title: 'JobNodeRecord' },
)

/** The body of a launch. */
export const LaunchBody = Type.Object(
  {
    formName: Type.String({ minLength: 1, maxLength: 200 }),
    extravars: Type.Optional(nullable(AnyObject)),
    payload: Type.Optional(valuesOrNull('Another name for extravars')),
    rawFormData: Type.Optional(valuesOrNull('Values of the fields by name; in a wizard, an object of values by step')),
    credentials: Type.Optional(
      valuesOrNull(
        'Names of credentials by variables and credential fields of the form. They replace those that the form names. ' +
          'A variable for which the form takes no credential is refused with 422. With LAUNCH_VALIDATION=enforce an unknown ' +
          'credential is, too, and the value of a field wins over this',
      ),
    ),
    files: Type.Optional(valuesOrNull(FILES_TEXT)),
    ...LAUNCH_FIELDS,
  },
  { title: 'Launch' },
)

/** The field values of a job. */
export const FieldValues = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'Values by field; in a wizard, an object of values by step. A row of a list has the answer to its upload as the ' +
    'value of a file field. Other uploads are not among the values',
})

/** The query of a relaunch. */
export const RelaunchQuery = Type.Object({
  verbose: Type.Optional(
    booleanText('true: the new job runs in verbose mode, which takes the role option allowVerboseMode'),
  ),
})

/** The body of a relaunch; it may be left out. */
export const RelaunchBody = nullable(
  Type.Object({
    values: Type.Optional(valuesOrNull('Field values that replace the kept ones; empty: the same values')),
    files: Type.Optional(
      valuesOrNull(
        'By file field, as in a launch: the answer to another upload, or null for no file. The uploads of all other ' +
          'fields are used again. Rows that values has bring their files themselves',
      ),
    ),
  }),
)

/** The answer of a relaunch. */
export const Relaunched = Type.Object(
  { message: Type.String(), id: Type.Integer({ description: 'Of the new job' }) },
  { title: 'Relaunched' },
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

/**
 * The fields of a list in addition to its records. They are optional, because an event has only those that say something
 * about it.
 */
const listedEventFields = {
  task_id: Type.Optional(nullable(Type.Integer({ description: 'The id of its task in the outline' }))),
  play_id: Type.Optional(nullable(Type.Integer({ description: 'The id of its play in the outline' }))),
  action: Type.Optional(nullable(Type.String())),
  role: Type.Optional(nullable(Type.String())),
  path: Type.Optional(nullable(Type.String())),
  from: Type.Optional(nullable(Type.Integer({ description: 'The byte of the output at which its output begins' }))),
  to: Type.Optional(nullable(Type.Integer({ description: 'The byte at which it ends' }))),
  line: Type.Optional(nullable(Type.Integer({ description: 'Number of line ends before its output' }))),
  changed: Type.Optional(Type.Boolean()),
  ignored: Type.Optional(Type.Boolean()),
  rescued: Type.Optional(Type.Boolean()),
  uncounted: Type.Optional(Type.Boolean({ description: 'Ansible leaves this event out of its recap' })),
  item: Type.Optional(Type.Unknown({ description: 'The item of a loop; a long one is the beginning of its JSON' })),
}

/** A structured event in a list. */
export const EventRecord = Type.Object({ ...eventFields, ...listedEventFields }, { title: 'JobEventRecord' })

/** One event with its whole result, and all other fields of the runner. */
export const Event = Type.Object(
  { ...eventFields, result: Type.Unknown() },
  { title: 'JobEvent', additionalProperties: true },
)
