import type { Readable } from 'node:stream'
import { type Static, type TSchema, Type } from 'typebox'
import { InvalidInputError } from '../errors.js'

/** The body of every refusal and failure, framework errors included. */
export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'One sentence for people' }),
    code: Type.Optional(Type.String({ description: 'A stable word for programs' })),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { description: 'Refused or failed' },
)

/** The answer of an action. */
export const Message = Type.Object({ message: Type.String() })

/** Ids come as text; {@link idOf} reads them, so that a wrong one gets a sentence of its own. */
export const IdParams = Type.Object({ id: Type.String({ description: 'A whole number' }) })

/** Statuses with which a route may refuse, beside 401, 500 and 503 which every route has. */
export type RefusalStatus = 400 | 403 | 404 | 409 | 413 | 415 | 422 | 429

/**
 * The `response` schemas of a route: its answer, and the error body for each way to refuse. Statuses that were
 * forgotten here still leave with the same shape.
 */
export function answers<Answer extends TSchema>(answer: Answer, ...refusals: RefusalStatus[]) {
  const errors: Record<number, typeof ErrorBody> = {}
  for (const status of [...refusals, 401, 500, 503]) errors[status] = ErrorBody
  return { ...errors, '4xx': ErrorBody, '5xx': ErrorBody, 200: answer }
}

/** The same for a route that answers with plain text, which is sent as it is: buffers and streams are not serialised. */
export function textAnswers(...refusals: RefusalStatus[]) {
  const text = {
    description: 'Plain text',
    content: { 'text/plain': { schema: Type.Unsafe<Buffer | Readable>(Type.String()) } },
  }
  return { ...answers(Type.Null(), ...refusals), 200: text }
}

/** A list: `count` is the length of `records`. */
export function listOf<Item extends TSchema>(item: Item) {
  return Type.Object({ count: Type.Integer(), records: Type.Array(item) })
}

/** The wire form of a list, with what {@link listOf} declares. */
export function asList<Item>(records: readonly Item[]): { count: number; records: Item[] } {
  return { count: records.length, records: [...records] }
}

/**
 * A value or null. As a list of types where that is possible: of a union the serialiser has to try every branch with a
 * validator, value by value.
 */
export function nullable<Schema extends TSchema>(schema: Schema) {
  const union = Type.Union([schema, Type.Null()])
  if (!('type' in schema) || typeof schema.type !== 'string') return union
  return Type.Unsafe<Static<typeof union>>({ ...schema, type: [schema.type, 'null'] })
}

/** The id in a path. @throws InvalidInputError when it is not a whole number */
export function idOf(params: { readonly id: string }): number {
  return wholeNumberOf(params.id, 'id')
}

/**
 * A whole number given as text. One that is too large to be anybody's becomes the largest there is, which nothing has.
 * @throws InvalidInputError naming the parameter
 */
export function wholeNumberOf(text: string, name: string): number {
  if (!/^[+-]?\d+$/.test(text)) {
    throw new InvalidInputError(`invalid_${name}`, `${name} must be a whole number`, { [name]: text })
  }
  return Math.min(Math.max(Number(text), -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}
