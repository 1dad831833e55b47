import type { Dispatch } from './job-dispatch.js'

/** Where a job is. `lost`: its runner is not connected, or has not named the job since it connected. */
export const PLACE_STATES = ['queued', 'offered', 'claimed', 'running', 'waiting', 'lost'] as const
/** One of {@link PLACE_STATES}. */
export type PlaceState = (typeof PLACE_STATES)[number]

/** The place that a job has by its way to a runner; null: it has ended, and has none. */
export const STAGE_OF_DISPATCH = {
  parked: 'waiting',
  queued: 'queued',
  offered: 'offered',
  claimed: 'claimed',
  driven: 'running',
  done: null,
} as const satisfies Record<Dispatch, PlaceState | null>
