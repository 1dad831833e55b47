import { syncBuiltinESMExports } from 'node:module'
import v8 from 'node:v8'
import { onTestFinished } from 'vitest'

/** How V8 is told to keep the heap small, and to let it grow as usual. */
export const SMALL_HEAP = '--heap-growing-percent=40'
/** See {@link SMALL_HEAP}. */
export const USUAL_HEAP = '--heap-growing-percent=0'

/** What V8 is told until the test ends. It cannot be asked for its flags. V8 itself hears nothing of it. */
export function recordV8Flags(): string[] {
  const flags: string[] = []
  const real = v8.setFlagsFromString
  v8.setFlagsFromString = (flag) => void flags.push(flag)
  syncBuiltinESMExports()
  onTestFinished(() => {
    v8.setFlagsFromString = real
    syncBuiltinESMExports()
  })
  return flags
}
