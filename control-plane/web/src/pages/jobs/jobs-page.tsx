import { words } from '../../words/en.js'

/** The list of jobs. */
export function JobsPage() {
  return <h1>{words.jobs.title}</h1>
}
