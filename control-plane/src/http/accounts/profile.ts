import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Accounts } from '../../auth/accounts/accounts.js'
import { callerOf } from '../route/guards.js'
import { LIMITED } from '../route/rate-limit.js'
import { Message, answers } from '../route/schemas.js'

const Profile = Type.Object(
  {
    username: Type.String(),
    id: Type.Integer(),
    type: Type.String(),
    email: Type.Optional(Type.String()),
    groups: Type.Array(Type.String({ description: 'With prefix, such as local/ops' })),
    groupsLeftOut: Type.Optional(
      Type.Integer({
        description:
          'At least so many groups of the last sign-in were not kept, because they were too many or too long; no role ' +
          'names them',
      }),
    ),
    roles: Type.Array(Type.String()),
    rolesWithheld: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Roles that name this user, but count for a deleted account of the same name until an admin accepts the name',
      }),
    ),
    options: Type.Record(Type.String(), Type.Boolean()),
    passwordMustChange: Type.Optional(
      Type.Boolean({ description: 'Present when the user has to change the password before doing anything else' }),
    ),
  },
  { title: 'Profile' },
)

/** Routes for the caller's own account and password. */
export function profileRoutes(deps: { readonly accounts: Accounts }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/profile',
      {
        config: { beforePasswordChange: true },
        schema: { tags: ['profile'], summary: 'The signed-in user', response: answers(Profile) },
      },
      async (request) => {
        const { username, id, type, email, groups, roles, options, pageOptions, passwordMustChange, rolesWithheld } =
          callerOf(request)
        const { groupsLeftOut } = await deps.accounts.find(id)
        return {
          username,
          id,
          type,
          email: email ?? undefined,
          groups: [...groups],
          groupsLeftOut: groupsLeftOut || undefined,
          roles: [...roles],
          rolesWithheld: rolesWithheld.length === 0 ? undefined : [...rolesWithheld],
          options: { ...options, ...pageOptions },
          passwordMustChange: passwordMustChange || undefined,
        }
      },
    )

    app.put(
      '/profile',
      {
        config: { ...LIMITED, audit: { action: 'profile.password', kind: 'user' }, beforePasswordChange: true },
        schema: {
          tags: ['profile'],
          summary:
            'Change the password of the caller; ends all sessions and API tokens of the caller, also this session',
          operationId: 'changePassword',
          body: Type.Object({ password: Type.String(), currentPassword: Type.String({ maxLength: 1024 }) }),
          response: answers(Message, 400, 403, 409, 429),
        },
      },
      async (request) => {
        const { password, currentPassword } = request.body
        await deps.accounts.changeOwnPassword(
          callerOf(request),
          { current: currentPassword, next: password },
          request.ip,
        )
        return { message: 'The password was changed; sign in again' }
      },
    )
  }
}
