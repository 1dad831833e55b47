import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../auth/caller.js'
import type { RunnerActions } from '../runners/runner-actions.js'
import { adminOf } from './guards.js'
import { RunnerBody, RunnerRecord, runnerRecordOf } from './runner-schemas.js'
import { type JoinTokenRouteDeps, joinTokenRoutes } from './join-token.js'
import { IdParams, Message, answers, asList, idOf, listOf } from './schemas.js'

export interface RunnerRouteDeps extends JoinTokenRouteDeps {
  readonly hub: RunnerActions
}

const tags = ['runner']

/** Runners and their join tokens: for admins. */
export function runnerRoutes({ hub, joinTokens }: RunnerRouteDeps): FastifyPluginAsyncTypebox {
  /** Who may act on a runner that exists: "no such runner" is said before "not allowed", as everywhere. */
  async function actOn(request: FastifyRequest, params: { id: string }): Promise<{ id: number; admin: Caller }> {
    const id = idOf(params)
    await hub.get(id)
    return { id, admin: adminOf(request) }
  }

  return async (app) => {
    await app.register(joinTokenRoutes({ joinTokens }))

    app.get(
      '/runner',
      { schema: { tags, summary: 'List runners and requests', response: answers(listOf(RunnerRecord), 403) } },
      async (request) => {
        adminOf(request)
        return asList((await hub.list()).map(runnerRecordOf))
      },
    )

    app.get(
      '/runner/:id',
      { schema: { tags, summary: 'One runner', params: IdParams, response: answers(RunnerRecord, 400, 403, 404) } },
      async (request) => {
        const view = await hub.get(idOf(request.params))
        adminOf(request)
        return runnerRecordOf(view)
      },
    )

    app.put(
      '/runner/:id',
      {
        schema: {
          tags,
          summary: 'Change what an admin sets',
          params: IdParams,
          body: RunnerBody,
          response: answers(Message, 400, 403, 404, 409),
        },
      },
      async (request) => {
        const { id, admin } = await actOn(request, request.params)
        const { enabled, is_default: isDefault, description, max_jobs: maxJobs } = request.body
        await hub.update(id, { enabled, isDefault, description, maxJobs }, admin.username)
        return { message: 'The runner was changed' }
      },
    )

    app.delete(
      '/runner/:id',
      {
        schema: { tags, summary: 'Remove a runner', params: IdParams, response: answers(Message, 400, 403, 404, 409) },
      },
      async (request) => {
        const { id, admin } = await actOn(request, request.params)
        await hub.remove(id, admin.username)
        return { message: 'The runner was removed' }
      },
    )

    const actions = [
      { path: 'approve', summary: 'Let a waiting runner in', act: hub.approve, message: 'The runner was approved' },
      { path: 'reject', summary: 'Turn a request down', act: hub.reject, message: 'The request was rejected' },
      { path: 'revoke', summary: 'Shut an approved runner out', act: hub.revoke, message: 'The runner was revoked' },
    ] as const
    for (const { path, summary, act, message } of actions) {
      app.post(
        `/runner/:id/${path}`,
        { schema: { tags, summary, params: IdParams, response: answers(Message, 400, 403, 404, 409) } },
        async (request) => {
          const { id, admin } = await actOn(request, request.params)
          await act(id, admin.username)
          return { message }
        },
      )
    }
  }
}
