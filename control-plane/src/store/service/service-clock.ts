import type { Queries } from '../store.js'

/**
 * Where the service clock begins, in milliseconds: later than any wall clock. So a time that is smaller was written by an
 * older release, which took a wall clock; and a node of such a release, beside this one, finds no wait of ours over.
 */
export const SERVICE_CLOCK_ORIGIN = 1_000_000_000_000_000

const ROW = 1

/** The clock as it stands: its time in milliseconds, and how often it was moved. */
export interface ServiceTime {
  readonly time: number
  readonly turn: number
}

/** The service clock as it is stored. */
export function readServiceTime(queries: Queries): Promise<ServiceTime> {
  return queries.selectFrom('service_clock').select(['time', 'turn']).where('id', '=', ROW).executeTakeFirstOrThrow()
}

/** Moves the clock on. @param from what was read in the same write */
export async function moveServiceTime(queries: Queries, from: ServiceTime, ms: number): Promise<ServiceTime> {
  const to = { time: from.time + ms, turn: from.turn + 1 }
  await queries.updateTable('service_clock').set(to).where('id', '=', ROW).execute()
  return to
}
