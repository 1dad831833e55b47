import type { Client, JobEventRecord } from '@holdfast/client'
import { tableOr, type Column } from '../../../show/table.js'
import { durationText } from '../../../show/time.js'
import { createRunCheck } from '../../../follow/same-run.js'
import { act } from '../../act.js'
import { flag, JOB, text } from '../../options.js'

const PAGE = 2_000

const COLUMNS: readonly Column<JobEventRecord>[] = [
  { title: 'order', value: (event) => event.order, align: 'right' },
  { title: 'type', value: (event) => event.type },
  { title: 'host', value: (event) => event.host },
  { title: 'task', value: (event) => event.task ?? event.play },
  { title: 'duration', value: (event) => durationText(event.duration), align: 'right' },
]

/** The command that lists what happened in the playbook, task by task, host by host. */
export const eventsCommand = act({
  describe: 'Show what happened in the playbook of a job, task by task',
  on: JOB,
  options: {
    failed: flag('Only what failed, and unreachable hosts'),
    host: text('Only events of this host'),
    task: text('Only events of tasks of this name'),
  },
  ask: async ({ client, on: id, args: { host, task, failed } }) => {
    const only = { host, task, outcome: failed ? 'failed,unreachable' : undefined }
    const records = await readEvents(client, id, only)
    return { count: records.length, records }
  },
  text: ({ records }, { terminal: { stdout } }) => tableOr('No events.', stdout, COLUMNS, records),
})

/**
 * Reads all events, page by page, so that the service need not hold all of them at once. An empty page is the end.
 * @throws UnknownNameError when a later page is of another job, to which a restored database gave the number
 */
async function readEvents(
  client: Client,
  jobId: number,
  only: { readonly host?: string | undefined; readonly task?: string | undefined; readonly outcome?: string },
): Promise<JobEventRecord[]> {
  const events: JobEventRecord[] = []
  const requireSameRun = createRunCheck(jobId)
  let run: string | null = null
  const noted = async (address: URL, init: RequestInit): Promise<Response> => {
    const response = await fetch(address, init)
    run = response.headers.get('x-run-id')
    return response
  }
  for (;;) {
    const after = events.at(-1)?.order ?? 0
    const page = await client.getJobEvents({ id: jobId, after, limit: PAGE, ...only }, { fetch: noted })
    requireSameRun(run)
    const fresh = page.records.filter((event) => event.order > after)
    if (fresh.length === 0) return events
    events.push(...fresh)
  }
}
