import { endJob } from '../../../control-plane/src/jobs/end/ending.js'
import { abandonJob } from '../../../control-plane/src/jobs/end/ending.js'
import type { JobRow } from '../../../control-plane/src/store/jobs/jobs.js'
import { waitFor } from '../../support/wait.js'
import type { TestServer } from '../server.js'

/** Fields of a form that take these values. */
export function fieldsFor(values: object): object[] {
  const typeOf = (value: unknown): string =>
    typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'checkbox' : 'text'
  return Object.entries(values).map(([name, value]) => ({ name, type: typeOf(value) }))
}

/** The jobs that a job consists of, oldest first. */
export function partsOf(server: TestServer, id: number): Promise<JobRow[]> {
  return server.store.read.selectFrom('job').selectAll().where('parent_id', '=', id).orderBy('id').execute()
}

/** The job of a step or node, as soon as it is there. */
export function partOf(server: TestServer, id: number, target: string): Promise<JobRow> {
  return waitFor(`the job of ${target} in job ${id}`, async () => {
    const parts = await partsOf(server, id)
    return parts.find((part) => part.target === target) ?? null
  })
}

/** Ends a job as its runner would, and says so as the dispatcher does. */
export async function endPart(
  server: TestServer,
  id: number,
  status: 'success' | 'failed' | 'aborted' | 'abandoned' = 'success',
  reason: string | null = status === 'success' ? null : `it ${status}`,
): Promise<void> {
  const now = server.clock.now()
  await server.store.write('test.end', (queries) =>
    status === 'abandoned'
      ? abandonJob(queries, id, reason ?? '', now)
      : endJob(queries, id, { status, reason, detail: null }, now),
  )
  server.parts.sequences.sequences.jobEnded()
}

/** Where each step or node stands, by its identifier. */
export async function nodesOf(server: TestServer, id: number): Promise<Record<string, string>> {
  const query = server.store.read.selectFrom('sequence_node').select(['identifier', 'status']).where('job_id', '=', id)
  const rows = await query.orderBy('position').execute()
  return Object.fromEntries(rows.map(({ identifier, status }) => [identifier, status]))
}
