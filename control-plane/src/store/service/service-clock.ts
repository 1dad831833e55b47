import type { Queries } from '../store.js'

/** The rows of the table. Each of them is a clock, because they are looked at with different care. */
export const SERVICE_CLOCKS = { waits: 1, ages: 2 } as const

/** The present state of the clock: its time in milliseconds, and how often it was moved. */
export interface ServiceTime {
  readonly time: number
  readonly turn: number
}

/** The service clock as it is stored. */
export function readServiceTime(queries: Queries, clock: number = SERVICE_CLOCKS.waits): Promise<ServiceTime> {
  return queries.selectFrom('service_clock').select(['time', 'turn']).where('id', '=', clock).executeTakeFirstOrThrow()
}

/** Moves the clock on. @param from the state that was read in the same write */
export async function moveServiceTime(
  queries: Queries,
  from: ServiceTime,
  ms: number,
  clock: number = SERVICE_CLOCKS.waits,
): Promise<ServiceTime> {
  const to = { time: from.time + ms, turn: from.turn + 1 }
  await queries.updateTable('service_clock').set(to).where('id', '=', clock).execute()
  return to
}
