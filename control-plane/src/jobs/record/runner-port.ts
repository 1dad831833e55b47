/** What jobs ask of runners. Both calls return at once and never throw. */
export interface RunnerPort {
  /** A job waits in the queue of this runner. */
  jobQueued(runnerId: number): void
  /** Somebody asked to abort a job that this runner holds or may hold. */
  abortRequested(runnerId: number, jobId: number, runId: string): void
}
