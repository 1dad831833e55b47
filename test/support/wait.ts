import { setTimeout as pause } from 'node:timers/promises'

/**
 * Waits until `condition` answers something other than null, undefined or false, and gives that back. Only a deadline
 * far beyond any machine's slowness ends it otherwise.
 * @param what said in the error, with the last thing that was thrown
 */
export async function waitFor<T>(
  what: string,
  condition: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  options: { readonly everyMs?: number; readonly timeoutMs?: number } = {},
): Promise<T> {
  const { everyMs = 20, timeoutMs = 100_000 } = options
  const deadline = Date.now() + timeoutMs
  let last: unknown = null
  while (Date.now() < deadline) {
    try {
      const value = await condition()
      if (value !== null && value !== undefined && value !== false) return value
    } catch (error) {
      last = error
    }
    await pause(everyMs)
  }
  throw new Error(`waited in vain for: ${what}${last === null ? '' : ` (${String(last)})`}`)
}
