import type { Job } from '@holdfast/client'
import { courseWords } from '../../words/en-course.js'

/** Why a job has no tasks to show. */
export function noTasksText({ job_type: type, status }: Job): string {
  if (type === 'workflow' || type === 'multistep') return courseWords.inParts
  return status === 'running' || status === 'approve' ? courseWords.nothing : courseWords.noTasks
}
