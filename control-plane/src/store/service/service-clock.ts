import type { Queries } from '../store.js'

const ROW = 1

/** The present state of the clock: its time in milliseconds, and how often it was moved. */
export interface ServiceTime {
  readonly time: number
  readonly turn: number
}

/** The service clock as it is stored. */
export function readServiceTime(queries: Queries): Promise<ServiceTime> {
  return queries.selectFrom('service_clock').select(['time', 'turn']).where('id', '=', ROW).executeTakeFirstOrThrow()
}

/** Moves the clock on. @param from the state that was read in the same write */
export async function moveServiceTime(queries: Queries, from: ServiceTime, ms: number): Promise<ServiceTime> {
  const to = { time: from.time + ms, turn: from.turn + 1 }
  await queries.updateTable('service_clock').set(to).where('id', '=', ROW).execute()
  return to
}
