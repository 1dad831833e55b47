import * as v from 'valibot'

/**
 * What the client reads of the answers (service interface, decisions section 3 to 6). The objects are loose: fields
 * that this client does not know are kept for `--json` and otherwise not looked at.
 */
const nullableText = v.nullable(v.string())
const id = v.pipe(v.number(), v.safeInteger())

export const errorAnswerSchema = v.looseObject({
  error: v.string(),
  details: v.optional(v.unknown()),
  code: v.optional(nullableText, null),
})

export const tokenPairSchema = v.looseObject({ token: v.string(), refreshtoken: v.string() })
export type TokenPair = v.InferOutput<typeof tokenPairSchema>

export const profileSchema = v.looseObject({ username: v.string(), roles: v.optional(v.array(v.string()), []) })

export const launchedSchema = v.looseObject({ id })

export const relaunchedSchema = v.looseObject({ message: v.string(), id })

export const messageSchema = v.looseObject({ message: v.string() })

/** The approval that a job waits for or last passed. */
const approvalSchema = v.looseObject({
  title: v.optional(nullableText, null),
  roles: v.optional(v.array(v.string()), []),
  state: v.optional(v.string(), ''),
  decided_by: v.optional(nullableText, null),
})
export type Approval = v.InferOutput<typeof approvalSchema>

/** A job record of the list; the job itself adds extravars, output and the rest. */
export const jobRecordSchema = v.looseObject({
  id,
  form: v.string(),
  status: v.string(),
  status_reason: v.optional(nullableText, null),
  /** What the status does not say. */
  detail: v.optional(nullableText, null),
  start: nullableText,
  end: nullableText,
  user: nullableText,
  runner: nullableText,
  approval: v.optional(v.nullable(approvalSchema), null),
})
export type JobRecord = v.InferOutput<typeof jobRecordSchema>

export const jobListSchema = v.looseObject({ count: v.number(), records: v.array(jobRecordSchema) })

export const eventSchema = v.looseObject({
  order: v.number(),
  type: v.string(),
  play: nullableText,
  task: nullableText,
  host: nullableText,
  duration: v.nullable(v.number()),
  time: nullableText,
})
export type JobEvent = v.InferOutput<typeof eventSchema>

export const eventListSchema = v.looseObject({ count: v.number(), records: v.array(eventSchema) })

export const runnerSchema = v.looseObject({
  id,
  name: v.string(),
  state: v.string(),
  online: v.boolean(),
  enabled: v.boolean(),
  is_default: v.boolean(),
  fingerprint: v.string(),
  host: nullableText,
  ip: nullableText,
  version: nullableText,
  running_jobs: v.number(),
  max_jobs: v.nullable(v.number()),
  last_seen: nullableText,
})
export type Runner = v.InferOutput<typeof runnerSchema>

export const runnerListSchema = v.looseObject({ count: v.number(), records: v.array(runnerSchema) })

export const joinTokenSchema = v.looseObject({
  id,
  name: v.optional(nullableText, null),
  created_at: v.optional(nullableText, null),
  expires_at: v.optional(nullableText, null),
  used_at: v.optional(nullableText, null),
  used_by: v.optional(nullableText, null),
})
export type JoinToken = v.InferOutput<typeof joinTokenSchema>

export const joinTokenListSchema = v.looseObject({ count: v.number(), records: v.array(joinTokenSchema) })

/** The only time that the token itself is shown. */
export const newJoinTokenSchema = v.looseObject({ ...joinTokenSchema.entries, token: v.string() })

export const apiTokenSchema = v.looseObject({
  sid: v.string(),
  name: v.optional(nullableText, null),
  created_at: v.optional(nullableText, null),
  expires_at: v.optional(nullableText, null),
  last_used_at: v.optional(nullableText, null),
})
export type ApiToken = v.InferOutput<typeof apiTokenSchema>

export const apiTokenListSchema = v.looseObject({ count: v.number(), records: v.array(apiTokenSchema) })

/** The only time that the token itself is shown. */
export const newApiTokenSchema = v.looseObject({ ...apiTokenSchema.entries, token: v.string() })

export const credentialSchema = v.looseObject({
  /** Null for one of credentials.yaml. */
  id: v.nullable(id),
  name: v.string(),
  type: v.string(),
  user: nullableText,
  host: nullableText,
  port: v.nullable(v.number()),
  description: v.optional(nullableText, null),
  source: v.string(),
  overridden: v.optional(v.boolean(), false),
})
export type Credential = v.InferOutput<typeof credentialSchema>

export const credentialListSchema = v.looseObject({
  count: v.number(),
  records: v.array(credentialSchema),
  errors: v.optional(
    v.array(v.looseObject({ file: v.string(), line: v.nullable(v.number()), reason: v.string() })),
    [],
  ),
})
