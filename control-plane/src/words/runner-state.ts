/** The states of a runner. The legal moves between them are in the room of the runners (`RUNNER_MOVES`). */
export const RUNNER_STATES = ['waiting', 'approved', 'denied', 'revoked'] as const
/** One of {@link RUNNER_STATES}. */
export type RunnerState = (typeof RUNNER_STATES)[number]
