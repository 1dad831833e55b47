/**
 * A signal that aborts after a time, or when another one does.
 * @param signal what else may end the request
 */
export function withTimeLimit(milliseconds: number, signal?: AbortSignal): AbortSignal {
  // The timer holds on to its signal. One of AbortSignal.timeout is collected as garbage when only AbortSignal.any knows
  // it, and then the time is never over.
  const limit = new AbortController()
  const expire = (): void => limit.abort(new DOMException('The time is over.', 'TimeoutError'))
  // A timer of Node.js would keep the program alive; one of a browser is a number.
  const timer: unknown = setTimeout(expire, milliseconds)
  if (typeof timer === 'object') (timer as { unref?(): void } | null)?.unref?.()
  return signal ? AbortSignal.any([signal, limit.signal]) : limit.signal
}
