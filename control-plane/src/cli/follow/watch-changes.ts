import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '@holdfast/client'
import { CliError, isPassingFailure } from '../errors.js'
import { serverSentEvents } from './sse-lines.js'

/** How long to wait before connecting again, in milliseconds. The server asks for the same time in its `hello`. */
export const WATCH_AGAIN_MS = 3_000

/** A stream that is silent for this long is dead, in milliseconds. The server pings every 15 s. */
const SILENCE_MS = 45_000

/**
 * Watches the live events and calls `changed` whenever something of that name may have changed. It does so at each event. It
 * also does so whenever the stream begins or breaks, because the server does not repeat events. Ends when the signal aborts.
 * @throws CliError for a refusal, which a later try would meet again
 */
export async function watchChanges(
  client: Client,
  name: string,
  changed: () => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await readStream(client, name, changed, signal)
    } catch (error) {
      if (signal.aborted) return
      // An error that is no CliError means that the connection broke in the middle.
      if (error instanceof CliError && !isPassingFailure(error)) throw error
    }
    changed()
    await delay(WATCH_AGAIN_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function readStream(client: Client, name: string, changed: () => void, signal: AbortSignal): Promise<void> {
  const silent = new AbortController()
  const timer = setTimeout(() => silent.abort(), SILENCE_MS)
  try {
    const response = await client.watchEvents({}, { signal: AbortSignal.any([signal, silent.signal]) })
    changed()
    if (!response.body) return
    const heard = (): unknown => timer.refresh()
    for await (const { event, data } of serverSentEvents(response.body, heard)) {
      if (event === 'changed' && namesChange(data, name)) changed()
    }
  } finally {
    clearTimeout(timer)
  }
}

function namesChange(data: string, name: string): boolean {
  try {
    return (JSON.parse(data) as { name?: unknown }).name === name
  } catch {
    return false
  }
}
