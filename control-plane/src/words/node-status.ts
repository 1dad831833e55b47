/** The statuses of a step of a multistep job or a node of a workflow. */
export const NODE_STATUSES = [
  'waiting',
  'running',
  'approve',
  'success',
  'failed',
  'aborted',
  'skipped',
  'do not run',
] as const
/** One of {@link NODE_STATUSES}. */
export type NodeStatus = (typeof NODE_STATUSES)[number]
