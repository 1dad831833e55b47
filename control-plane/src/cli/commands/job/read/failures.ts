import type { Client, Job, JobFailures } from '@holdfast/client'
import { RefusedError } from '../../../errors.js'

/** Most hosts of a task that are named. The others are counted. */
const MAX_HOSTS = 5
/** Most reasons of a failed job that are told. */
const MAX_FAILURES = 3

/** Why a job failed, a text for each reason; none for a job that did not fail. An older control plane does not say it. */
export async function failuresOf(client: Client, { id, status }: Pick<Job, 'id' | 'status'>): Promise<string[]> {
  if (status !== 'failed') return []
  try {
    const { records } = await client.getJobFailures({ id })
    return records.slice(0, MAX_FAILURES).map(failureWords)
  } catch (error) {
    if (error instanceof RefusedError && error.status === 404) return []
    throw error
  }
}

/** `Install (task 17) on web1, web2: No package nginx is available.` */
function failureWords({ task, task_id: id, hosts, count, message, outcome }: JobFailures['records'][number]): string {
  const name = `${task ?? 'a task'}${id === null ? '' : ` (task ${id})`}`
  return `${name} on ${hostWords(hosts, count)}: ${message ?? outcome}`
}

/** The names of some hosts, and how many more there are. */
export function hostWords(hosts: readonly string[], count: number): string {
  const shown = hosts.slice(0, MAX_HOSTS)
  return `${shown.join(', ')}${count > shown.length ? ` and ${count - shown.length} more` : ''}`
}
