import { Readable } from 'node:stream'
import { Type, type TSchema } from 'typebox'

export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * An answer that is made while it is read. Its first part is made before anything is sent, so that a database that is
 * away still becomes a refusal; what fails later breaks the answer off, which a client sees as a failed one.
 */
export async function streamOf(parts: AsyncGenerator<string>): Promise<Readable> {
  const first = await parts.next()
  return Readable.from(first.done ? [] : following(first.value, parts))
}

/** The schema of an answer that is sent as a stream: it documents what is in it, and nothing is serialised by it. */
export function streamed(schema: TSchema) {
  return Type.Unsafe<Readable>(schema)
}

/** The JSON of an object with one more member, whose text comes in parts. */
export async function* withText(
  object: Readonly<Record<string, unknown>>,
  name: string,
  parts: AsyncIterable<string>,
): AsyncGenerator<string> {
  let before = `${JSON.stringify(object).slice(0, -1)},${JSON.stringify(name)}:"`
  for await (const part of parts) {
    yield before + JSON.stringify(part).slice(1, -1)
    before = ''
  }
  yield `${before}"}`
}

async function* following(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    yield first
    yield* rest
  } finally {
    // A client that leaves after the first part leaves the rest unread too.
    await rest.return(undefined)
  }
}
