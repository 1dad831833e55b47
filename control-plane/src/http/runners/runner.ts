import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { RunnerActions } from '../../runners/registration/runner-actions.js'
import { noteAudit } from '../route/audit-hook.js'
import { adminOf, requireAdmin, requireAdminFor } from '../route/guards.js'
import { RunnerBody, RunnerRecord, runnerRecordOf } from './runner-schemas.js'
import { type JoinTokenRouteDependencies, joinTokenRoutes } from './join-token.js'
import { IdParams, Message, answers, asList, idOf, listOf } from '../route/schemas.js'

/** What the routes of runners need of other rooms. */
export interface RunnerRouteDependencies extends JoinTokenRouteDependencies {
  readonly hub: RunnerActions
}

const tags = ['runner']

/** Routes for runners, for admins. */
export function runnerRoutes({ hub, joinTokens }: RunnerRouteDependencies): FastifyPluginAsyncTypebox {
  const requireAdminForRunner = requireAdminFor(async (id, request) => {
    noteAudit(request, { name: (await hub.get(id)).runner.name })
  })

  return async (app) => {
    await app.register(joinTokenRoutes({ joinTokens }))

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
        const { enabled, is_default: isDefault, description, max_jobs: maxJobs, keep } = request.body
        const changes = { enabled, isDefault, description, maxJobs, keep }
        await hub.update(idOf(request.params), changes, adminOf(request).username)
        return { message: 'The runner was changed' }
      },
    )

    app.delete(
      '/runner/:id',
      {
        onRequest: requireAdminForRunner,
        schema: { tags, summary: 'Remove a runner', params: IdParams, response: answers(Message, 400, 403, 404, 409) },
      },
      async (request) => {
        await hub.remove(idOf(request.params), adminOf(request).username)
        return { message: 'The runner was removed' }
      },
    )

    const actions = [
      { path: 'approve', summary: 'Let a waiting runner in', act: hub.approve, message: 'The runner was approved' },
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
        summary: 'Let the process in that was refused as a clone: the state folder of the runner was restored',
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
          await act(idOf(request.params), adminOf(request).username)
          return { message }
        },
      )
    }
  }
}
