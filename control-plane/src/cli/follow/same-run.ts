import { UnknownNameError } from '../errors.js'

/**
 * Makes a check for a job that is read by several requests. A restored database may give its number to another job between
 * two of them. The check notes the first run that an answer names.
 */
export function createRunCheck(jobId: number): (run: string | null) => void {
  let first: string | null = null
  return (run) => {
    first ??= run
    if (run === null || run === first) return
    throw new UnknownNameError(
      `Job ${jobId} is another job now (run ${run}): the database of the control plane was restored, and the number was ` +
        `given again. The job that was asked for is run ${first}; if it goes on, its runner brings it back under ` +
        'another number. Look for it with: holdfast job list',
    )
  }
}
