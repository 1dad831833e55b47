import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { shownName } from '../../auth/sessions/shown-name.js'
import { isoTime } from '../../time/clock.js'
import type { OrphanActions, OrphanView } from '../../runners/held/orphan-actions.js'
import type { RunnerActions } from '../../runners/registration/admin/actions.js'
import { ORPHAN_DECISIONS, ORPHAN_REASONS } from '../../store/jobs/orphans.js'
import { noteAudit } from '../route/audit-hook.js'
import { adminOf, requireAdmin, requireAdminFor } from '../route/guards.js'
import { IdParams, Message, answers, asList, idOf, listOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const tags = ['runner']

/** A job that a runner has, that the database does not know, and that is not adopted automatically. */
const OrphanRecord = Type.Object(
  {
    runner_id: Type.Integer(),
    runner: Type.String(),
    run_id: Type.String({ description: 'Names the job: its number on the runner may be that of another job here' }),
    number: Type.Integer({ description: 'The number that the job has on its runner' }),
    reason: Type.Enum(ORPHAN_REASONS, {
      description:
        'Why it is not adopted automatically: it was claimed from a control plane with another key, its run belongs to ' +
        'another runner here, its agent is too old to describe it, or its claim cannot be read',
    }),
    service: nullable(Type.String({ description: 'Fingerprint of the control plane that it belongs to' })),
    ended: Type.Boolean({ description: 'Its playbook has ended' }),
    output_bytes: Type.Integer(),
    events_bytes: Type.Integer(),
    form: nullable(Type.String()),
    user: nullable(Type.String()),
    user_type: nullable(Type.String()),
    claimed_at: nullable(Type.String({ description: "By the runner's clock" })),
    reported_at: Type.String({ description: 'When its runner named it last' }),
    decision: nullable(
      Type.Enum(ORPHAN_DECISIONS, { description: 'What the runner is told as soon as it is connected' }),
    ),
    decided_by: nullable(Type.String()),
  },
  { title: 'RunnerOrphan' },
)

const OrphanBody = Type.Object({ run_id: Type.String({ pattern: '^[0-9a-f]{32}$' }) }, { title: 'RunnerOrphanChoice' })

const DECISIONS = [
  {
    path: 'adopt',
    summary: 'Adopt an unknown job of a runner: it becomes a job here and gets its real outcome',
    message: 'The job is adopted as soon as its runner has described it',
  },
  {
    path: 'end',
    summary: 'End the playbook of an unknown job; the runner keeps the job',
    message: 'The runner was told to end the job, or is when it connects',
  },
  {
    path: 'forget',
    summary: 'End an unknown job, and remove everything that its runner has of it',
    message: 'The runner was told to forget the job, or is when it connects',
  },
] as const

/**
 * Routes for jobs of runners that wait for an admin: the database does not know them, or they belong to another control
 * plane.
 */
export function orphanRoutes(deps: {
  readonly orphans: OrphanActions
  readonly hub: Pick<RunnerActions, 'get'>
}): FastifyPluginAsyncTypebox {
  const { orphans, hub } = deps
  const requireAdminForRunner = requireAdminFor(async (id, request) => {
    noteAudit(request, { name: (await hub.get(id)).runner.name })
  })
  return async (app) => {
    app.get(
      '/runner/orphans',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'List jobs of runners that wait for an admin',
          operationId: 'listRunnerOrphans',
          response: answers(listOf(OrphanRecord), 403),
        },
      },
      async () => asList((await orphans.list()).map(recordOf)),
    )
    for (const { path, summary, message } of DECISIONS) {
      app.post(
        `/runner/:id/orphans/${path}`,
        {
          onRequest: requireAdminForRunner,
          schema: {
            tags,
            summary,
            operationId: `${path}RunnerOrphan`,
            params: IdParams,
            body: OrphanBody,
            response: answers(Message, 400, 403, 404, 409),
          },
        },
        async (request) => {
          await orphans.decide(idOf(request.params), request.body.run_id, path, shownName(adminOf(request)))
          return { message }
        },
      )
    }
  }
}

function recordOf({ orphan, runnerName }: OrphanView): Static<typeof OrphanRecord> {
  return {
    runner_id: orphan.runnerId,
    runner: runnerName,
    run_id: orphan.runId,
    number: orphan.jobNumber,
    reason: orphan.reason,
    service: orphan.service,
    ended: orphan.ended,
    output_bytes: orphan.outputBytes,
    events_bytes: orphan.eventsBytes,
    form: orphan.form,
    user: orphan.userName,
    user_type: orphan.userType,
    claimed_at: isoTime(orphan.claimedAt),
    reported_at: isoTime(orphan.reportedAt),
    decision: orphan.decision,
    decided_by: orphan.decidedBy,
  }
}
