import type { Readable } from 'node:stream'
import { type TSchema, Type } from 'typebox'
import { InvalidInputError, NotFoundError } from '../../errors.js'

/** The body of every error answer, also of the framework's. */
export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'One sentence for people' }),
    code: Type.Optional(Type.String({ description: 'A stable word for programs' })),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { title: 'Error', description: 'Refused or failed' },
)

/** The answer of an action. */
export const Message = Type.Object({ message: Type.String() }, { title: 'Message' })

/** Marks a text with the content of another type. The document shows that type (see `openapi-operation.ts`). */
export const MEANT_AS = '$comment'

/** A whole number that comes as text. {@link wholeNumberOf} reads it, so that a wrong one has its own error. */
export function integerText(description: string) {
  return Type.String({ [MEANT_AS]: 'integer', description })
}

/** A parameter that is `true` or `false`. */
export function booleanText(description: string) {
  return Type.String({ [MEANT_AS]: 'boolean', description })
}

/** The id in a path, read by {@link idOf}. */
export const IdParams = Type.Object({ id: integerText('A whole number') })

/** Statuses of a route's own error answers, in addition to those that all routes can have. */
export type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 416 | 422 | 429

/**
 * The `response` schemas of a route: its answer, and the error body for each error status. A status that is missing
 * here still has the same error body.
 */
export function answers<Answer extends TSchema>(answer: Answer, ...refusals: RefusalStatus[]) {
  const errors: Record<number, typeof ErrorBody> = {}
  for (const status of refusals) errors[status] = ErrorBody
  return { ...errors, '4xx': ErrorBody, '5xx': ErrorBody, 200: answer }
}

/** A header of an answer, for the document. */
export type HeaderSchemas = Readonly<Record<string, TSchema>>

/** The same for a route that answers with text. Buffers and streams are sent as they are. */
export function textAnswers(
  text: { readonly type?: string; readonly description: string; readonly headers?: HeaderSchemas },
  ...refusals: RefusalStatus[]
) {
  const { type = 'text/plain', description, headers } = text
  const schema = Type.Unsafe<Buffer | Readable>(Type.String())
  const answer = { description, ...(headers ? { headers } : {}), content: { [type]: { schema } } }
  return { ...answers(Type.Null(), ...refusals), 200: answer }
}

/** A list: `count` is the length of `records`. A list of things called `Job` or `JobRecord` is a `JobList`. */
export function listOf<Item extends TSchema & { readonly title?: string }>(item: Item) {
  const title = item.title === undefined ? {} : { title: `${item.title.replace(/Record$/, '')}List` }
  return Type.Object({ count: Type.Integer(), records: Type.Array(item) }, title)
}

/** A list as it is sent, in the form that {@link listOf} declares. */
export function asList<Item>(records: readonly Item[]): { count: number; records: Item[] } {
  return { count: records.length, records: [...records] }
}

/**
 * The id in a path.
 * @throws InvalidInputError when it is not a whole number, NotFoundError when it is larger than any id
 */
export function idOf(params: { readonly id: string }): number {
  const id = wholeNumberOf(params.id, 'id')
  if (Math.abs(id) < Number.MAX_SAFE_INTEGER) return id
  throw new NotFoundError('not_found', `There is nothing with the id ${params.id.slice(0, 100)}`, { id: params.id })
}

/**
 * A whole number given as text. A number that is too large becomes the largest possible one. No object has that number.
 * @throws InvalidInputError naming the parameter
 */
export function wholeNumberOf(text: string, name: string): number {
  if (!/^[+-]?\d+$/.test(text)) {
    throw new InvalidInputError(`invalid_${name}`, `${name} must be a whole number`, { [name]: text })
  }
  return Math.min(Math.max(Number(text), -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}
