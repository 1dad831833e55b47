import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { shownName } from '../../auth/sessions/shown-name.js'
import type { DefaultChange, RunnerActions } from '../../runners/registration/admin/actions.js'
import { noteAudit } from '../route/audit-hook.js'
import { adminOf, requireAdmin, requireAdminFor } from '../route/guards.js'
import { ApproveRunnerBody, RunnerBody, RunnerRecord, runnerRecordOf } from './runner-schemas.js'
import { type JoinTokenRouteDependencies, joinTokenRoutes } from './join-token.js'
import { type RunnerAddressRouteDependencies, runnerAddressRoutes } from './runner-address.js'
import { IdParams, Message, answers, asList, idOf, listOf } from '../route/schemas.js'

/** What the routes of runners need of other rooms. */
export interface RunnerRouteDependencies extends JoinTokenRouteDependencies, RunnerAddressRouteDependencies {
  readonly hub: RunnerActions
}

const tags = ['runner']

/** Routes for runners, for admins. */
export function runnerRoutes({ hub, joinTokens, addresses }: RunnerRouteDependencies): FastifyPluginAsyncTypebox {
  const requireAdminForRunner = requireAdminFor(async (id, request) => {
    noteAudit(request, { name: (await hub.get(id)).runner.name })
  })

  return async (app) => {
    await app.register(joinTokenRoutes({ joinTokens }))
    await app.register(runnerAddressRoutes({ addresses }))

    app.get(
      '/runner',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'List runners and requests',
          operationId: 'listRunners',
          response: answers(listOf(RunnerRecord), 403),
        },
      },
      async () => asList((await hub.list()).map(runnerRecordOf)),
    )

    app.get(
      '/runner/:id',
      {
        onRequest: requireAdminForRunner,
        schema: { tags, summary: 'One runner', params: IdParams, response: answers(RunnerRecord, 400, 403, 404) },
      },
      async (request) => runnerRecordOf(await hub.get(idOf(request.params))),
    )

    await app.register(runnerChangeRoutes({ hub, requireAdminForRunner }))
  }
}

interface RunnerChangeDependencies extends Pick<RunnerRouteDependencies, 'hub'> {
  readonly requireAdminForRunner: ReturnType<typeof requireAdminFor>
}

/** What changes one runner. */
function runnerChangeRoutes({ hub, requireAdminForRunner }: RunnerChangeDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.put(
      '/runner/:id',
      {
        onRequest: requireAdminForRunner,
        schema: {
          tags,
          summary: 'Change what an admin sets',
          params: IdParams,
          body: RunnerBody,
          response: answers(Message, 400, 403, 404, 409),
        },
      },
      async (request) => {
        const { name, enabled, is_default: isDefault, description, max_jobs: maxJobs, keep } = request.body
        const changes = { name, enabled, isDefault, description, maxJobs, keep }
        const defaultChange = await hub.update(idOf(request.params), changes, shownName(adminOf(request)))
        return { message: withDefaultSaid('The runner was changed', defaultChange) }
      },
    )

    app.delete(
      '/runner/:id',
      {
        onRequest: requireAdminForRunner,
        schema: { tags, summary: 'Remove a runner', params: IdParams, response: answers(Message, 400, 403, 404, 409) },
      },
      async (request) => {
        const defaultChange = await hub.remove(idOf(request.params), shownName(adminOf(request)))
        return { message: withDefaultSaid('The runner was removed', defaultChange) }
      },
    )

    await app.register(approveRunnerRoute({ hub, requireAdminForRunner }))

    const actions = [
      { path: 'reject', summary: 'Turn a request down', act: hub.reject, message: 'The request was rejected' },
      { path: 'revoke', summary: 'Shut an approved runner out', act: hub.revoke, message: 'The runner was revoked' },
      {
        path: 'reinstate',
        summary: 'Let a revoked runner in again',
        act: hub.reinstate,
        message: 'The runner was reinstated',
      },
      {
        path: 'accept',
        summary: 'Let in the process that was refused as a clone, because the state folder of the runner was restored',
        act: hub.acceptCopy,
        message: 'The copy was accepted: it is let in when it comes again, and what it reports is compared',
      },
    ] as const
    for (const { path, summary, act, message } of actions) {
      app.post(
        `/runner/:id/${path}`,
        {
          onRequest: requireAdminForRunner,
          schema: { tags, summary, params: IdParams, response: answers(Message, 400, 403, 404, 409) },
        },
        async (request) => {
          const defaultChange = await act(idOf(request.params), shownName(adminOf(request)))
          return { message: withDefaultSaid(message, defaultChange) }
        },
      )
    }
  }
}

/** Approves a runner. If somebody compared a fingerprint, only the runner with that fingerprint is approved. */
function approveRunnerRoute({ hub, requireAdminForRunner }: RunnerChangeDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/runner/:id/approve',
      {
        onRequest: requireAdminForRunner,
        schema: {
          tags,
          summary: 'Let a waiting runner in',
          params: IdParams,
          body: ApproveRunnerBody,
          response: answers(Message, 400, 403, 404, 409),
        },
      },
      async (request) => {
        const compared = request.body?.fingerprint
        const defaultChange = await hub.approve(idOf(request.params), shownName(adminOf(request)), compared)
        return { message: withDefaultSaid('The runner was approved', defaultChange) }
      },
    )
  }
}

const NO_DEFAULT = 'Forms that name no runner cannot be run until one is the default: holdfast runner default <name>'

/**
 * A text that says what was done, and what it means for the default runner. So nobody has to find that out from a
 * failed job.
 */
function withDefaultSaid(done: string, change: DefaultChange): string {
  switch (change) {
    case 'made':
      return `${done}; it is the default runner now`
    case 'lost':
      return `${done}; it was the default runner. ${NO_DEFAULT}`
    case 'missing':
      return `${done}; there is no default runner. ${NO_DEFAULT}`
    case null:
      return done
  }
}
