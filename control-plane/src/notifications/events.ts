/** The events that a target can get. */
export const TARGET_EVENTS = ['job.ended', 'job.approval', 'runner.request', 'runner.lost', 'runner.back'] as const
/** One of {@link TARGET_EVENTS}. */
export type TargetEvent = (typeof TARGET_EVENTS)[number]

/** The event of a delivery with which an admin tries a target. */
export const TEST_EVENT = 'test'

/** The lane of all mails. A lane has few attempts at a time, so a slow receiver does not delay the others. */
export const MAIL_LANE = 'mail'

/** The lane of a target. Each target has a lane of its own. */
export const laneOf = (targetId: number): string => `webhook:${targetId}`
