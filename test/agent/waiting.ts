import { setTimeout as delay } from 'node:timers/promises'

const LOOK_MS = 10

/** Waits until `look` finds something; the error names what did not come. */
export async function waitUntil<Found>(
  what: string,
  look: () => Found | Promise<Found>,
  timeoutMs = 300_000,
): Promise<NonNullable<Found>> {
  const last = performance.now() + timeoutMs
  for (;;) {
    const found = await look()
    if (found) return found
    if (performance.now() > last) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`)
    await delay(LOOK_MS)
  }
}
