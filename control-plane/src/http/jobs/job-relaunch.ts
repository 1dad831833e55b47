import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { InvalidInputError } from '../../errors.js'
import { readFieldValues } from '../../jobs/relaunch/field-values.js'
import type { LaunchDependencies } from '../../jobs/launch/launch.js'
import { relaunchJob, requireMayRelaunch } from '../../jobs/relaunch/relaunch.js'
import { noteAudit } from '../route/audit-hook.js'
import { clientGone } from '../route/client-gone.js'
import { callerOf } from '../route/guards.js'
import { FieldValues, RelaunchBody, RelaunchQuery, Relaunched } from './job-schemas.js'
import { IdParams, answers, idOf } from '../route/schemas.js'

const tags = ['job']

const WHO_MAY =
  'For your own job, or any with the role option manageAllJobs or as an admin; it takes the role option allowJobRelaunch ' +
  'and a form that is there and does not say allowRelaunch: false.'

const RELAUNCH_RULES =
  `${WHO_MAY} The new job is yours. It goes the way of every launch: form, roles and LAUNCH_VALIDATION count as they are now. ` +
  'Without a body it runs as it ran: where launches are checked from the kept field values, else with the same variables. ' +
  'values are laid over the kept field values, a step of a wizard field by field; null or empty means none, and ******** ' +
  'in place of a value that is not shown is refused. Passwords are not kept: those that the job had must come in values (422, missing). Uploads are used again. ' +
  'An abandoned job can be run again although it may still be at work; the message says so.'

/** Routes for the field values of jobs, and for running jobs again. */
export function relaunchRoutes(deps: { readonly launching: LaunchDependencies }): FastifyPluginAsyncTypebox {
  const { launching } = deps
  /** This runs before the body is read. A caller without the right gets no information about the body. */
  const requireAllowed = async (request: FastifyRequest) => {
    const id = idOf(request.params as { id: string })
    const { job } = await requireMayRelaunch(launching, callerOf(request), id, isVerbose(request.query))
    noteAudit(request, { name: job.form })
  }

  return async (app) => {
    app.get(
      '/job/:id/rawformdata',
      {
        config: { audit: { action: 'job.rawformdata.read', kind: 'job' } },
        schema: {
          tags,
          summary: 'The field values that a job was launched with',
          description: `${WHO_MAY} Without passwords, and without uploads but those of rows; ******** stands where a password was a part of a value. Nothing else is hidden. 404 when none were kept.`,
          params: IdParams,
          response: answers(FieldValues, 400, 403, 404),
        },
      },
      async (request) => readFieldValues(launching, callerOf(request), idOf(request.params)),
    )

    app.post(
      '/job/:id/relaunch',
      {
        config: { longBody: true },
        onRequest: requireAllowed,
        schema: {
          tags,
          summary: 'Run an ended job again, as it ran or with changes',
          description: RELAUNCH_RULES,
          params: IdParams,
          querystring: RelaunchQuery,
          body: RelaunchBody,
          response: answers(Relaunched, 400, 403, 404, 409, 413, 415, 422, 429),
        },
      },
      async (request, reply) => {
        const id = idOf(request.params)
        const body = request.body ?? {}
        requireKnown(body)
        const { values, files } = body
        const again = await relaunchJob(launching, callerOf(request), id, {
          values: values ?? {},
          files: files ?? {},
          verbose: isVerbose(request.query),
          signal: clientGone(reply),
        })
        noteAudit(request, { name: `${again.form} (again as job ${again.id})` })
        return { message: again.message, id: again.id }
      },
    )
  }
}

/** As with `text`, only the exact word counts. */
function isVerbose(query: unknown): boolean {
  return (query as { readonly verbose?: string }).verbose === 'true'
}

/** Values beside `values` would be ignored, and the job would run without them. So they are refused. */
function requireKnown(body: object): void {
  const strange = Object.keys(body).find((key) => key !== 'values' && key !== 'files')
  if (strange === undefined) return
  throw new InvalidInputError(
    'invalid_input',
    `The body of a relaunch has values and files, not ${strange.slice(0, 100)}`,
  )
}
