import type { StreamLimits } from '../../control-plane/src/runners/streams/stream-limits.js'

/** More of a job than any test sends that is not about limits. */
export const AMPLE: StreamLimits = { outputBytes: 2 ** 40, eventsBytes: 2 ** 40, events: 2 ** 40 }
