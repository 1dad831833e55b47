/** States of a runner's membership. What may follow on which is in the room of the runners (`RUNNER_MOVES`). */
export const RUNNER_STATES = ['waiting', 'approved', 'denied', 'revoked'] as const
export type RunnerState = (typeof RUNNER_STATES)[number]
