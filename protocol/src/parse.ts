import * as v from 'valibot'
import { ProtocolError } from './errors.js'

/** One sentence for the first thing that does not fit a schema: where it is and what was expected. */
export function firstIssue(issues: readonly v.BaseIssue<unknown>[]): string {
  const issue = issues[0]
  if (!issue) return 'it does not fit'
  const path = v.getDotPath(issue)
  return path ? `${path}: ${issue.message}` : issue.message
}

/**
 * Parses JSON text against a schema. Unknown fields are dropped, so that a newer side may say more.
 * @throws ProtocolError `bad_message`
 */
export function parseJson<Schema extends v.GenericSchema>(schema: Schema, text: string): v.InferOutput<Schema> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ProtocolError('bad_message', 'not JSON', { cause: error })
  }
  const result = v.safeParse(schema, value)
  if (!result.success) throw new ProtocolError('bad_message', firstIssue(result.issues))
  return result.output
}

/** A whole number from 0 up that JavaScript holds exactly: ids, byte counts, epochs. */
export const countSchema = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

/** A job's id. */
export const jobIdSchema = v.pipe(v.number(), v.safeInteger(), v.minValue(1))

/** The random id of a job's one run, made at launch; it keeps jobs of different databases with equal ids apart. */
export const runIdSchema = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/, 'must be 32 hex digits'))

/** SHA-256 in lower-case hex. */
export const sha256Schema = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex'))

/** A runner's name: what forms write in `runner:`. */
export const runnerNameSchema = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be 1 to 63 letters, digits, dots, dashes or underscores'),
)
