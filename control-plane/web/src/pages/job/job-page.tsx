import { useRoute } from 'preact-iso'
import { words } from '../../words/en.js'

/** One job. */
export function JobPage() {
  const { params } = useRoute()
  return <h1>{words.job.title(Number(params.id))}</h1>
}
