import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { serverSentEvents } from '../../control-plane/src/cli/follow/sse-lines.js'

const execute = promisify(execFile)

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

/** Watches until the second call, and says how many timers the process has then and afterwards. */
const WATCHES = `
import { watchChanges } from ${JSON.stringify(new URL('../../control-plane/dist/cli/follow/watch-changes.js', import.meta.url))}
const text = 'event: changed\\ndata: {"name":"runners"}\\n\\nevent: changed\\ndata: {"name":"jobs"}\\n\\n'
const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length
const stop = new AbortController()
const seen = []
const changed = () => {
  seen.push(timers())
  if (seen.length === 2) stop.abort()
}
await watchChanges({ watchEvents: async () => new Response(text) }, 'jobs', changed, stop.signal)
console.log(JSON.stringify({ seen: seen.slice(0, 2), left: timers() }))
process.exit()
`

it('who watches for changes leaves no timer behind, for which the command would go on running', async () => {
  const { stdout } = await execute(process.execPath, ['--input-type=module', '--eval', WATCHES])
  // When the stream begins, and then at the event of that name, the timer for a silent stream runs.
  expect(JSON.parse(stdout)).toEqual({ seen: [1, 1], left: 0 })
})
