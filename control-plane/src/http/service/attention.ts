import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type JobReading, countApprovals } from '../../jobs/read/reading.js'
import type { OrphanActions } from '../../runners/held/orphan-actions.js'
import type { RunnerActions } from '../../runners/registration/admin/actions.js'
import { nullable } from '../../words/nullable.js'
import { callerOf } from '../route/guards.js'
import { answers } from '../route/schemas.js'

const forAdmins = (description: string) =>
  nullable(Type.Integer({ description: `${description}; null: only for admins` }))

/** What waits for a person, in numbers. */
const Attention = Type.Object(
  {
    approvals: Type.Integer({ description: 'Jobs that wait for an approval that the caller may give' }),
    runner_requests: forAdmins('Runners that ask to join'),
    lost_runners: forAdmins('Approved runners that are turned on and not connected'),
    unknown_jobs: forAdmins('Jobs of runners that the database does not know, and about which nobody has decided'),
    broken_forms: forAdmins('Forms, workflows and parts of them that are not in force'),
  },
  { title: 'Attention' },
)

/** What the routes need of other rooms. */
export interface AttentionDependencies {
  readonly reading: JobReading
  readonly hub: Pick<RunnerActions, 'list'>
  readonly orphans: Pick<OrphanActions, 'list'>
  /** What of the forms, workflows and roles is not in force. */
  readonly formProblems: () => Promise<readonly unknown[]>
}

/** The route that says how much waits for the caller. */
export function attentionRoutes({
  reading,
  hub,
  orphans,
  formProblems,
}: AttentionDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/attention',
      {
        schema: {
          tags: ['events'],
          summary: 'How much waits for the caller',
          operationId: 'getAttention',
          response: answers(Attention),
        },
      },
      async (request) => {
        const caller = callerOf(request)
        const approvals = await countApprovals(reading, caller)
        if (!caller.isAdmin) {
          return { approvals, runner_requests: null, lost_runners: null, unknown_jobs: null, broken_forms: null }
        }
        const runners = await hub.list()
        const isLost = ({ runner, online }: (typeof runners)[number]) =>
          runner.state === 'approved' && runner.enabled && !online
        return {
          approvals,
          runner_requests: runners.filter(({ runner }) => runner.state === 'waiting').length,
          lost_runners: runners.filter(isLost).length,
          unknown_jobs: (await orphans.list()).filter(({ orphan }) => orphan.decision === null).length,
          broken_forms: (await formProblems()).length,
        }
      },
    )
  }
}
