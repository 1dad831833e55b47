import type { Client } from '@holdfast/client'
import { afterEach, expect, test } from 'vitest'
import { RefusedError, UnreachableError } from '../../../control-plane/src/cli/errors.js'
import { watchChanges } from '../../../control-plane/src/cli/follow/watch-changes.js'
import { holdProcessTimers } from '../../support/held-process-timers.js'
import { holdDelays } from './held-delays.js'

type Stream = ReadableStreamDefaultController<Uint8Array>

let release = () => {}
afterEach(() => release())

/** Watches the live events of a control plane. An error among the answers is what a request fails with. */
function watch(answers: readonly (Error | null)[] = []) {
  const streams: Stream[] = []
  let asked = 0
  let changes = 0
  const client = {
    watchEvents(_request: unknown, { signal }: { readonly signal: AbortSignal }) {
      const answer = answers[asked]
      asked += 1
      if (answer) return Promise.reject(answer)
      if (answer === null) return Promise.resolve(new Response(null))
      const start = (stream: Stream) => {
        streams.push(stream)
        signal.addEventListener('abort', () => stream.error(signal.reason))
      }
      return Promise.resolve(new Response(new ReadableStream<Uint8Array>({ start })))
    },
  } as unknown as Client
  const stop = new AbortController()
  const ended = watchChanges(client, 'jobs', () => (changes += 1), stop.signal)
  return {
    stop,
    ended,
    asked: () => asked,
    changes: () => changes,
    last: () => streams.at(-1),
    send: (text: string) => streams.at(-1)?.enqueue(new TextEncoder().encode(text)),
  }
}

/** Until everything has run that waits for nothing but promises and streams. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

const event = (name: string, data: string) => `event: ${name}\ndata: ${data}\n\n`

test('each event of the name is a change, and no other one', async () => {
  holdDelays(3000)
  const { stop, ended, changes, send } = watch()
  await settled()
  // The stream has begun.
  expect(changes()).toBe(1)
  send(event('changed', '{"name":"runners"}') + event('hello', '{"name":"jobs"}'))
  send(event('changed', '{"name":') + event('changed', '{}'))
  await settled()
  expect(changes()).toBe(1)
  send(event('changed', '{"name":"jobs"}') + event('changed', '{"name":"jobs"}'))
  await settled()
  expect(changes()).toBe(3)
  stop.abort()
  await ended
})

test('a stream that ends or breaks is a change, and another one begins 3 s later', async () => {
  const held = holdDelays(3000)
  const { stop, ended, asked, changes, last } = watch()
  await settled()
  last()?.close()
  await settled()
  expect([asked(), changes(), held.length]).toEqual([1, 2, 1])
  held[0]?.end()
  await settled()
  expect([asked(), changes(), held.length]).toEqual([2, 3, 1])
  last()?.error(new TypeError('terminated'))
  await settled()
  expect([asked(), changes(), held.length]).toEqual([2, 4, 2])
  stop.abort()
  await ended
  expect(asked()).toBe(2)
})

test('an answer without a body is a change, and so is a control plane that is away or asked too often', async () => {
  const held = holdDelays(3000)
  const answers = [
    null,
    new UnreachableError('away'),
    new RefusedError('Too often.', 429, null),
    new TypeError('broke'),
  ]
  const { stop, ended, asked, changes } = watch(answers)
  const seen: number[] = []
  for (let at = 0; at < answers.length; at += 1) {
    await settled()
    seen.push(changes())
    held.at(-1)?.end()
  }
  // The first answer began and ended.
  expect(seen).toEqual([2, 3, 4, 5])
  await settled()
  expect([asked(), changes()]).toEqual([5, 6])
  stop.abort()
  await ended
})

test('a refusal ends it, because a later try would meet it again', async () => {
  const refusal = new RefusedError('Not for you.', 403, null)
  const { ended, changes } = watch([refusal])
  await expect(ended).rejects.toBe(refusal)
  expect(changes()).toBe(0)
})

test('when it is stopped, nothing counts as a change any more', async () => {
  const { stop, ended, changes } = watch()
  await settled()
  stop.abort()
  await ended
  expect(changes()).toBe(1)
  const before = watch([new RefusedError('Not for you.', 403, null)])
  before.stop.abort()
  await before.ended
})

test('a stream that is silent for 45 s is left for another one, and no timer stays behind', async () => {
  const delays = holdDelays(3000)
  const timers = holdProcessTimers()
  release = timers.release
  const { stop, ended, asked } = watch()
  await settled()
  expect(timers.count()).toBe(1)
  timers.advance(44_999)
  await settled()
  expect([asked(), delays.length]).toEqual([1, 0])
  timers.advance(1)
  await settled()
  expect([delays.length, timers.count()]).toEqual([1, 0])
  delays[0]?.end()
  await settled()
  expect([asked(), timers.count()]).toEqual([2, 1])
  stop.abort()
  await ended
  expect(timers.count()).toBe(0)
})
