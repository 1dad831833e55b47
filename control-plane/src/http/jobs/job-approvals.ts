import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type ApprovingDependencies, approve, reject } from '../../jobs/approve/approving.js'
import { type JobReading, countApprovals } from '../../jobs/read/reading.js'
import { noteAudit } from '../route/audit-hook.js'
import { callerOf } from '../route/guards.js'
import { ApproveBody, ApproveQuery } from './job-schemas.js'
import { IdParams, Message, answers, idOf } from '../route/schemas.js'

const tags = ['job']

/** Routes for the approvals that jobs wait for: their number, and decisions. */
export function jobApprovalRoutes(deps: {
  readonly reading: JobReading
  readonly approving: ApprovingDependencies
}): FastifyPluginAsyncTypebox {
  const { reading, approving } = deps
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
            'The caller needs a role that the approval names, or is an admin. For a job of the caller the approval also ' +
            'needs allowSelf, unless the caller is an admin. The job fails with the reason if its runner does not exist any' +
            ' more or is turned off, if its owner may not use the runner any more, or if the account of its owner was ' +
            'deleted or blocked. 409 changed_since_asked: the playbook folder or the form has changed since the approval ' +
            'was asked for; details has the hashes of both. With force the job runs what is there now.',
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
          description: 'The caller needs a role that the approval names, is an admin, or owns the job.',
          params: IdParams,
          response: answers(Message, 400, 403, 404, 409),
        },
      },
      async (request) => ({ message: await reject(approving, callerOf(request), idOf(request.params)) }),
    )
  }
}
