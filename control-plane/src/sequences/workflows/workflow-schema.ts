import { MAX_ARGUMENT_BYTES } from '@holdfast/protocol'
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'

/** In its exports AWX writes null for a property that is not set. */
const orNull = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

const Name = Type.String({ minLength: 1, maxLength: 512 })
/** Identifiers are shown in output. */
const Identifier = Type.String({ minLength: 1, maxLength: 512, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' })
const Text = Type.String({ maxLength: 4096 })
/** Hosts, patterns or tags. The launch counts their bytes. */
const ListText = Type.String({ maxLength: MAX_ARGUMENT_BYTES })
/** Configuration as code also has lists. */
const TextOrList = Type.Union([ListText, Type.Array(Type.Union([ListText, Type.Number()]))])
const Flag = Type.Boolean()
const Named = Type.Object({ name: Name })
const Variables = Type.Record(Type.String(), Type.Unknown())
const Links = orNull(Type.Array(Type.Object({ identifier: Name })))

/** Most nodes of one workflow. */
const MAX_NODES = 1000

/** Longest time for an approval, in seconds: a year. */
const MAX_TIMEOUT = 366 * 24 * 3600

/** An entry of `workflow_job_templates`. Its nodes are checked one by one, so that an error can name the node. */
const WorkflowFile = Type.Object({
  name: Name,
  extra_vars: orNull(Type.Union([Variables, Type.String()])),
  // Used for nodes that have no inventory themselves.
  inventory: orNull(Type.Union([Named, ListText])),
  limit: orNull(TextOrList),
  job_tags: orNull(TextOrList),
  skip_tags: orNull(TextOrList),
  related: Type.Object({ workflow_nodes: Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_NODES }) }),
})

const templateProperties = {
  // Left out: that of the node.
  name: orNull(Type.Union([Name, Type.Literal('')])),
  description: orNull(Text),
  timeout: orNull(Type.Integer({ minimum: 0, maximum: MAX_TIMEOUT })),
}
const Template = Type.Object({ ...templateProperties, type: orNull(Type.String()) })

const Approval = Type.Object({
  title: orNull(Text),
  message: orNull(Text),
  roles: orNull(Type.Array(Name)),
  notifications: orNull(Type.Array(Text)),
  allowSelf: orNull(Flag),
})

/** A node in the syntax of AWX's exports. Other keys are accepted and not used. */
const NodeFile = Type.Object({
  identifier: Identifier,
  unified_job_template: orNull(Template),
  inventory: orNull(Type.Union([Named, ListText])),
  limit: orNull(TextOrList),
  job_tags: orNull(TextOrList),
  skip_tags: orNull(TextOrList),
  job_type: orNull(Type.Enum(['run', 'check', ''])),
  diff_mode: orNull(Flag),
  verbosity: orNull(Type.Union([Type.Integer({ minimum: 0, maximum: 5 }), Type.String({ pattern: '^[0-5]?$' })])),
  extra_data: orNull(Type.Union([Variables, Type.String()])),
  all_parents_must_converge: orNull(Flag),
  runner: orNull(Text),
  if_extra_var: orNull(Name),
  extra_vars_key: orNull(Name),
  approval: orNull(Approval),
  related: orNull(
    Type.Object({
      credentials: orNull(Type.Array(Named)),
      success_nodes: Links,
      failure_nodes: Links,
      always_nodes: Links,
      /** awxkit exports approvals under this key. */
      create_approval_template: orNull(Type.Object(templateProperties)),
    }),
  ),
})

/** A node as its file has it. */
export type NodeFile = Static<typeof NodeFile>
/** A workflow as its file has it. */
export type WorkflowFile = Static<typeof WorkflowFile>
/** Checks an entry of `workflow_job_templates`, without its nodes. */
export const workflowFile = Compile(WorkflowFile)
/** Checks a node. */
export const nodeFile = Compile(NodeFile)
