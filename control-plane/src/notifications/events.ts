/** What a target can be told of. */
export const TARGET_EVENTS = ['job.ended', 'job.approval', 'runner.request', 'runner.lost', 'runner.back'] as const
/** One of {@link TARGET_EVENTS}. */
export type TargetEvent = (typeof TARGET_EVENTS)[number]

/** The event of a delivery that an admin asks for to try a target. */
export const TEST_EVENT = 'test'

/** The lane of all mails. Each target has a lane of its own. */
export const MAIL_LANE = 'mail'

/** The lane of a target. */
export const laneOf = (targetId: number): string => `webhook:${targetId}`
