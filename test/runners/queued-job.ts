import { NO_PLAYBOOK } from '../../control-plane/src/jobs/record/playbook.js'
import type { NewJob } from '../../control-plane/src/store/jobs/new-job.js'

/** The row of a job that waits for a runner, as a launch leaves it. */
export function queuedJob(runnerId: number, runId = '0'.repeat(32), playbook: object = {}): NewJob {
  return {
    run_id: runId,
    form: 'f',
    status: 'running',
    dispatch: 'queued',
    start_time: 1,
    user_id: null,
    user_name: 'ann',
    user_type: 'local',
    runner_id: runnerId,
    runner_name: 'seven',
    extravars: '{}',
    credentials: '{}',
    password_fields: '[]',
    playbook: JSON.stringify({ ...NO_PLAYBOOK, playbook: 'x.yml', ...playbook }),
  }
}
