/** The statuses of a job, and how it moves from one to another. */
export const STATES = {
  Statuses: {
    'status.running': 'running: the job runs.',
    'status.approve': 'approve: the job waits for an approval.',
    'status.success': 'success: finished without errors; final.',
    'status.failed': 'failed: the job failed; final.',
    'status.warning': 'warning: a multistep job finished although a step with continue failed; final.',
    'status.aborted': 'aborted: the job was aborted; final.',
    'status.rejected': 'rejected: the approval was refused and what waited for it did not run; final.',
    'status.abandoned':
      'abandoned: what followed the job stopped, and the job was given up; final, but for its real outcome.',
  },
  Moves: {
    'move.abort': 'A running job that is aborted becomes aborted, and the abort answers with a message.',
    'move.reject':
      'A job that waits for an approval and is rejected becomes rejected, does not run, and the rejection answers with a message.',
    'move.abandon': 'A running job whose follower is lost becomes abandoned.',
    'move.real-outcome': 'An abandoned job whose runner finishes it afterwards ends with its real outcome.',
    'move.conflict': 'An action on a job whose status does not allow it answers 409.',
    'move.final': 'A final status is left by nothing.',
  },
} as const
