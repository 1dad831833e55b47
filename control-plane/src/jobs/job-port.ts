/**
 * The port through which the runners know the jobs. Runners import no other module of this room. Functions that take
 * `Queries` run inside a write of the caller. So the report of a runner and its effect on the job are one commit.
 */

// How a job begins, goes on or ends.
export { storeJob } from './launch/store-job.js'
export { abandonJob, abortUnstarted, endJob, failJob } from './end/ending.js'
export { jobOutcomeOf } from './end/outcome.js'
export { approvedBefore } from './approve/approving.js'
export { mayRun, takeBackOutdated } from './approve/outdated-approval.js'

// What a stored job tells about itself.
export { isEnded, jobStatusOf } from './record/status.js'
export { NO_PLAYBOOK, argumentBytes, extravarsOf, playbookOf } from './record/playbook.js'
export { isSequence } from './record/sequence-port.js'

// What a job needs before it may be offered.
export { needsOfJob } from './needs/credential-needs.js'
export { runnerProblem } from './needs/runner-choice.js'

// What jobs ask of runners, and who is informed when a job ends.
export type { RunnerPort } from './record/runner-port.js'
export type { RunnerPresence } from './read/connected.js'
export type { JobEnds } from './record/sequence-port.js'
