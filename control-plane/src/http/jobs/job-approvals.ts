import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type ApprovingDependencies, approve, reject } from '../../jobs/approve/approving.js'
import { type JobReading, countApprovals } from '../../jobs/read/reading.js'
import { noteAudit } from '../route/audit-hook.js'
import { callerOf } from '../route/guards.js'
import { ApproveBody, ApproveQuery } from './job-schemas.js'
import { IdParams, Message, answers, idOf } from '../route/schemas.js'

/** What these routes need of other rooms. */
export interface ApprovalRouteDependencies {
  readonly reading: JobReading
  readonly approving: ApprovingDependencies
}

const tags = ['job']

/** Routes for the approvals that jobs wait for: their number, and decisions. */
export function jobApprovalRoutes({ reading, approving }: ApprovalRouteDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/approvals',
      {
        schema: {
          tags,
          summary: 'How many jobs wait for an approval that the caller may give',
          response: answers(Type.Integer()),
        },
      },
      async (request) => countApprovals(reading, callerOf(request)),
    )

    app.post(
      '/job/:id/approve',
      {
        schema: {
          tags,
          summary: 'Approve a job that waits for it',
          description:
            'Takes a role that the approval names, or an admin; for the own job also allowSelf. A job whose runner is gone or ' +
            'off by now, or not allowed any more to whoever launched it, or whose launcher has no account any more or a blocked ' +
            'one, fails with that reason. 409 changed_since_asked: the playbook folder or the form is not what the approval was ' +
            'asked for; details has the hashes asked and now. With force the job runs what is there now.',
          params: IdParams,
          querystring: ApproveQuery,
          body: ApproveBody,
          response: answers(Message, 400, 403, 404, 409, 413, 415),
        },
      },
      async (request) => {
        const force = request.query.force === 'true' || request.body?.force === true
        if (force) noteAudit(request, { detail: 'force' })
        const { message, changes } = await approve(approving, callerOf(request), idOf(request.params), force)
        if (changes.length > 0) noteAudit(request, { detail: `force, changed: ${changes.join(', ')}` })
        return { message }
      },
    )

    app.post(
      '/job/:id/reject',
      {
        schema: {
          tags,
          summary: 'Refuse the approval of a job, which then never runs',
          description: 'Takes a role that the approval names, or an admin, or the job’s owner.',
          params: IdParams,
          response: answers(Message, 400, 403, 404, 409),
        },
      },
      async (request) => ({ message: await reject(approving, callerOf(request), idOf(request.params)) }),
    )
  }
}
