import type { Insertable } from 'kysely'
import type { JobTable } from '../../control-plane/src/store/schema.js'

const PLAYBOOK = {
  playbook: 'x.yml',
  playbookSubPath: null,
  inventory: [],
  tags: null,
  limit: null,
  check: false,
  diff: false,
  verbose: false,
  allowJinjaInExtravars: false,
}

/** The row of a job that waits for a runner, as a launch leaves it. */
export function queuedJob(runnerId: number, runId = '0'.repeat(32)): Insertable<JobTable> {
  return {
    run_id: runId,
    form: 'f',
    target: 'f',
    job_type: 'ansible',
    status: 'running',
    status_reason: null,
    detail: null,
    start_time: 1,
    end_time: null,
    user_name: 'ann',
    user_type: 'local',
    runner_id: runnerId,
    runner_name: 'seven',
    dispatch: 'queued',
    wait_until: null,
    parent_id: null,
    step: null,
    approval: null,
    abort_requested: 0,
    abort_requested_by: null,
    abandoned_at: null,
    extravars: '{}',
    credentials: '{}',
    raw_form_data: null,
    playbook: JSON.stringify(PLAYBOOK),
  }
}
