import { setTimeout as delay } from 'node:timers/promises'
import { MAX_WAIT_MS } from '../support/wait.js'

const LOOK_MS = 10

/** Waits until `look` finds something; the error names what did not come. */
export async function waitUntil<Found>(
  what: string,
  look: () => Found | Promise<Found>,
  timeoutMs = MAX_WAIT_MS,
): Promise<NonNullable<Found>> {
  const last = performance.now() + timeoutMs
  for (;;) {
    const found = await look()
    if (found) return found
    if (performance.now() > last) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`)
    await delay(LOOK_MS)
  }
}
