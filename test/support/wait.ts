import { setTimeout as pause } from 'node:timers/promises'

/** Between two looks, when a test says nothing else: soon at first, then an eighth of what was waited, and never long. */
const SOON_MS = 20
const SELDOM_MS = 250

/** Only a deadline far beyond any machine's slowness ends a wait. HOLDFAST_TEST_MAX_WAIT_MS says another one. */
export const MAX_WAIT_MS = Number(process.env['HOLDFAST_TEST_MAX_WAIT_MS'] ?? 300_000)

/**
 * Waits until `condition` answers something other than null, undefined or false, and gives that back. A look is
 * often a request: a wait of seconds must not be hundreds.
 * @param what said in the error, with the last thing that was thrown
 */
export async function waitFor<T>(
  what: string,
  condition: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  options: { readonly everyMs?: number; readonly timeoutMs?: number } = {},
): Promise<T> {
  const { everyMs, timeoutMs = MAX_WAIT_MS } = options
  const began = Date.now()
  const deadline = began + timeoutMs
  let last: unknown = null
  while (Date.now() < deadline) {
    try {
      const value = await condition()
      if (value !== null && value !== undefined && value !== false) return value
    } catch (error) {
      last = error
    }
    await pause(everyMs ?? Math.min(SELDOM_MS, Math.max(SOON_MS, (Date.now() - began) / 8)))
  }
  throw new Error(`waited in vain for: ${what}${last === null ? '' : ` (${String(last)})`}`)
}
