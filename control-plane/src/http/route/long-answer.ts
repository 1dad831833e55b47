import { Readable } from 'node:stream'
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { Type, type TSchema } from 'typebox'
import { keepHeapSmall } from '../../ground/heap-growth.js'
import { type WrittenRecords, writtenRecords } from '../../ground/written-records.js'
import type { AnswerTurn } from './answer-turns.js'

/** The content type of JSON answers. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/** After this number of characters the written text is sent, and other requests get their turn. */
const LONG_TEXT = 64 * 1024

/** From this number of characters on, an answer makes much garbage, so the heap is kept small meanwhile. */
const HEAVY_ANSWER = 1024 * 1024

/**
 * An answer that is made while it is read. Its first part is made before anything is sent. So a database that does not
 * answer still gives an error answer. After a later failure the answer ends early, and the client sees a failed
 * request.
 * @param turn of the caller: it is waited for before each part
 */
export async function streamOf(parts: AsyncGenerator<string>, turn: AnswerTurn): Promise<Readable> {
  const end = await turn.begin()
  try {
    const first = await turn.inTurn(() => parts.next())
    // Parts may be long, so only a few of them wait for the reader.
    const stream = Readable.from(first.done ? [] : following(first.value, parts, turn), { highWaterMark: 2 })
    // This event comes in any case: also when nobody has begun to read, and the generator has nothing to end.
    return stream.once('close', end)
  } catch (error) {
    end()
    throw error
  }
}

/** The schema of an answer that is sent as a stream. It documents the content, and serialises nothing. */
export function streamed(schema: TSchema) {
  return Type.Unsafe<Readable>(schema)
}

/**
 * The JSON of an object with one more member, whose text comes in parts. Members are written one by one, because they
 * may have megabytes. A member that the object has already is written once.
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

/** Some records of a list, or what is written of them already. */
type ListPage = readonly object[] | WrittenRecords

/**
 * The JSON of a list whose records come page by page. Other requests get their turn after each page.
 * @param more members beside `records` and `count`
 */
export async function* listText(
  pages: AsyncIterable<ListPage> | Iterable<ListPage>,
  more: Readonly<Record<string, unknown>> = {},
): AsyncGenerator<string> {
  let count = 0
  let text = '{"records":['
  for await (const page of pages) {
    const written = 'text' in page ? page : writtenRecords(page)
    yield count > 0 && written.count > 0 ? `${text},${written.text}` : text + written.text
    count += written.count
    text = ''
    await letOthersRun()
  }
  const members = Object.entries(more).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
  yield `${text}],"count":${count}${members.join('')}}`
}

async function* following(first: string, rest: AsyncGenerator<string>, turn: AnswerTurn): AsyncGenerator<string> {
  let length = first.length
  let letHeapGrow: (() => void) | null = null
  try {
    yield first
    for (;;) {
      const part = await turn.inTurn(() => rest.next())
      if (part.done) return
      length += part.value.length
      if (length > HEAVY_ANSWER) letHeapGrow ??= keepHeapSmall()
      yield part.value
    }
  } finally {
    letHeapGrow?.()
    // When a client leaves after the first part, the rest is not read.
    await rest.return(undefined)
  }
}
