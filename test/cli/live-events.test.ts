import { describe, expect, it } from 'vitest'
import { serverSentEvents } from '../../control-plane/src/cli/follow/sse-lines.js'

/** What a command hears of the live events, and what it leaves behind. */
async function eventsIn(...pieces: readonly (string | Uint8Array)[]): Promise<unknown[]> {
  const bytes = pieces.map((piece) => (typeof piece === 'string' ? new TextEncoder().encode(piece) : piece))
  const body = new Response(ReadableStream.from(bytes)).body
  if (body === null) throw new Error('there is no body')
  let heard = 0
  const events = []
  for await (const { event, data } of serverSentEvents(body, () => (heard += 1))) events.push([event, data])
  expect(heard).toBe(pieces.length)
  return events
}

describe('a stream of events', () => {
  it('is read event by event, wherever its pieces end', async () => {
    expect(await eventsIn('event: hello\ndata: 1\n', '\nevent: cha', 'nged\ndata: {"name":"jobs"}\n\n')).toEqual([
      ['hello', '1'],
      ['changed', '{"name":"jobs"}'],
    ])
    const word = new TextEncoder().encode('data: é\n\n')
    expect(await eventsIn(word.subarray(0, 7), word.subarray(7))).toEqual([['message', 'é']])
  })

  it('has names and data of one event each; comments, other fields and what breaks off are no events', async () => {
    expect(await eventsIn('event: a\ndata: 1\ndata:2\n\ndata: 3\n\n')).toEqual([
      ['a', '1\n2'],
      ['message', '3'],
    ])
    expect(await eventsIn(': ping\n\nretry: 3000\n\nevent: a\n\ndata\n\nevent: b\ndata: cut')).toEqual([
      ['message', ''],
    ])
  })
})
