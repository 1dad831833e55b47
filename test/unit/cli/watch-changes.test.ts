import type { Client } from '@holdfast/client'
import { expect, test } from 'vitest'
import { watchChanges } from '../../../control-plane/src/cli/follow/watch-changes.js'
import { holdProcessTimers } from '../../support/held-process-timers.js'
import { holdDelays } from './held-delays.js'

/** Until everything has run that waits for nothing but promises and streams. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

test('a stream that is silent for too long is left for another one, and no timer stays behind', async () => {
  let asked = 0
  const client = {
    watchEvents(_request: unknown, { signal }: { readonly signal: AbortSignal }) {
      asked += 1
      const start = (stream: ReadableStreamDefaultController<Uint8Array>) =>
        signal.addEventListener('abort', () => stream.error(signal.reason))
      return Promise.resolve(new Response(new ReadableStream<Uint8Array>({ start })))
    },
  } as unknown as Client
  const delays = holdDelays(3000)
  const timers = holdProcessTimers()
  const stop = new AbortController()
  try {
    const ended = watchChanges(client, 'jobs', () => undefined, stop.signal)
    await settled()
    timers.advance(60_000)
    await settled()
    expect([delays.length, timers.count()]).toEqual([1, 0])
    delays[0]?.end()
    await settled()
    expect([asked, timers.count()]).toEqual([2, 1])
    stop.abort()
    await ended
    expect(timers.count()).toBe(0)
  } finally {
    timers.release()
  }
})
