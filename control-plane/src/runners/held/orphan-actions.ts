import type { Logger } from 'pino'
import { ConflictError, NotFoundError } from '../../errors.js'
import type { LiveEvents } from '../../live/live-events.js'
import { decideOrphan, findOrphan, listOrphans, type Orphan, type OrphanDecision } from '../../store/jobs/orphans.js'
import { findRunner, listRunners } from '../../store/runners/runners.js'
import type { Queries, Store } from '../../store/store.js'

/** A job that waits for an admin, and the runner that has it. */
export interface OrphanView {
  readonly orphan: Orphan
  readonly runnerName: string
}

/** What admins can do with jobs that a runner has and that are not adopted automatically. */
export type OrphanActions = ReturnType<typeof createOrphanActions>

/** Makes the {@link OrphanActions}. */
export function createOrphanActions(deps: {
  readonly store: Store
  readonly live: LiveEvents
  readonly log: Pick<Logger, 'info'>
  /** The runner has to get this decision. */
  readonly decided: (runnerId: number) => void
}) {
  const { store, live, log } = deps
  return {
    async list(): Promise<OrphanView[]> {
      const names = new Map((await listRunners(store.read)).map(({ id, name }) => [id, name]))
      const orphans = await listOrphans(store.read)
      return orphans.map((orphan) => ({ orphan, runnerName: names.get(orphan.runnerId) ?? '' }))
    },
    /**
     * Stores a decision. The runner gets it at once, or when it connects. Until then, an admin may store another one.
     * @throws NotFoundError, ConflictError for a job that cannot be adopted
     */
    async decide(runnerId: number, runId: string, decision: OrphanDecision, by: string): Promise<void> {
      const refusal = await store.write('runners.orphan_decision', async (queries) => {
        const found = await refusalOf(queries, runnerId, runId, decision)
        if (found === null) await decideOrphan(queries, { runnerId, runId }, decision, by)
        return found
      })
      if (refusal) throw refusal
      log.info(
        { runner_id: runnerId, run: runId, decision, by },
        'an admin decided about a job that the database did not know',
      )
      deps.decided(runnerId)
      live.changed('runners')
    },
  }
}

/** Errors are thrown after the write. An error inside a write would run the whole group of writes again. */
async function refusalOf(
  queries: Queries,
  runnerId: number,
  runId: string,
  decision: OrphanDecision,
): Promise<NotFoundError | ConflictError | null> {
  const orphan = await findOrphan(queries, runnerId, runId)
  const runner = await findRunner(queries, runnerId)
  if (!orphan || !runner) {
    return new NotFoundError('no_such_orphan', `Runner ${runnerId} has no job of run ${runId} that waits for an admin`)
  }
  return decision === 'adopt' ? whyNotAdopted(orphan) : null
}

function whyNotAdopted({ reason }: Orphan): ConflictError | null {
  if (reason !== 'other_runner') return null
  return new ConflictError(
    'orphan_of_another',
    'This run is that of another runner here; it can only be ended or forgotten',
  )
}
