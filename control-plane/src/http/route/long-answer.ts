import { Readable } from 'node:stream'
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { Type, type TSchema } from 'typebox'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Characters after which what was written is sent and others have their turn. */
const LONG_TEXT = 64 * 1024

/**
 * An answer that is made while it is read. Its first part is made before anything is sent, so that a database that is
 * away still becomes a refusal; what fails later breaks the answer off, which a client sees as a failed one.
 */
export async function streamOf(parts: AsyncGenerator<string>): Promise<Readable> {
  const first = await parts.next()
  // Parts may be long: no more of them wait for the reader than are needed to keep it busy.
  return Readable.from(first.done ? [] : following(first.value, parts), { highWaterMark: 2 })
}

/** The schema of an answer that is sent as a stream: it documents what is in it, and nothing is serialised by it. */
export function streamed(schema: TSchema) {
  return Type.Unsafe<Readable>(schema)
}

/**
 * The JSON of an object with one more member, whose text comes in parts. Members are written one by one, and one that
 * stands there twice is written once: they may have megabytes.
 */
export async function* withText(
  object: Readonly<Record<string, unknown>>,
  name: string,
  parts: AsyncIterable<string>,
): AsyncGenerator<string> {
  const written = new Map<unknown, string>()
  let text = '{'
  for (const [key, value] of Object.entries(object)) {
    const member = written.get(value) ?? JSON.stringify(value)
    if (typeof value === 'object') written.set(value, member)
    text += `${JSON.stringify(key)}:${member},`
    if (text.length < LONG_TEXT) continue
    yield text
    text = ''
    await letOthersRun()
  }
  text += `${JSON.stringify(name)}:"`
  for await (const part of parts) {
    yield text + JSON.stringify(part).slice(1, -1)
    text = ''
  }
  yield `${text}"}`
}

/** The JSON of a list whose records come page by page; other requests have their turn after each. */
export async function* listText(
  pages: AsyncIterable<readonly object[]> | Iterable<readonly object[]>,
): AsyncGenerator<string> {
  let count = 0
  let text = '{"records":['
  for await (const page of pages) {
    for (const record of page) {
      if (count > 0) text += ','
      text += JSON.stringify(record)
      count += 1
    }
    yield text
    text = ''
    await letOthersRun()
  }
  yield `${text}],"count":${count}}`
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
