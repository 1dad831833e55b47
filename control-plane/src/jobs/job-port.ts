/**
 * The port by which the room of runners knows the room of jobs, and the only module of it that runners import. Functions that
 * take `Queries` run inside a write of the caller, so that what a runner says and what becomes of the job are one commit.
 */

// How a job that a runner had, or was to get, goes on or ends.
export { abandonJob, abortUnstarted, endJob, failJob } from './end/ending.js'
export { outcomeOf } from './end/outcome.js'
export { approvedBefore } from './approve/approving.js'
export { mayRun, takeBackOutdated } from './approve/outdated-approval.js'

// What a stored job says of itself.
export { isEnded, jobStatusOf } from './record/status.js'
export { NO_PLAYBOOK, extravarsOf, playbookOf } from './record/playbook.js'
export { isSequence } from './record/sequence-port.js'

// What it needs before it may be offered.
export { needsOfJob } from './needs/credential-needs.js'
export { runnerProblem } from './needs/runner-choice.js'

// What the room of jobs asks of the room of runners, and who is told of ends.
export type { RunnerPort } from './record/runner-port.js'
export type { RunnerPresence } from './read/connected.js'
export type { JobEnds } from './record/sequence-port.js'
