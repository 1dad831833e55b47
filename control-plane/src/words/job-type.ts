/** The type of a job: a playbook on a runner, or a parent job. */
export const JOB_TYPES = ['ansible', 'multistep', 'workflow'] as const
/** One of {@link JOB_TYPES}. */
export type JobType = (typeof JOB_TYPES)[number]
