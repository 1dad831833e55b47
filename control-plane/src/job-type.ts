/** What a job is: a playbook on a runner, or one that consists of others. */
export const JOB_TYPES = ['ansible', 'multistep', 'workflow'] as const
export type JobType = (typeof JOB_TYPES)[number]
