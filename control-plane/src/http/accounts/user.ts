import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Accounts } from '../../auth/accounts/accounts.js'
import { isoTime } from '../../time/clock.js'
import type { StoredUser } from '../../store/accounts/users.js'
import { noteAudit } from '../route/audit-hook.js'
import { adminOf, requireAdmin, requireAdminFor } from '../route/guards.js'
import { IdParams, Message, answers, asList, idOf, listOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const User = Type.Object(
  {
    id: Type.Integer(),
    username: Type.String(),
    type: Type.String(),
    email: nullable(Type.String()),
    groups: Type.Array(
      Type.String({ description: 'Without prefix; the group ops of a local user is local/ops in roles' }),
    ),
    enabled: Type.Boolean(),
    password_must_change: Type.Optional(
      Type.Boolean({ description: 'The user has to change the password at the next sign-in' }),
    ),
    created: Type.String({ format: 'date-time' }),
    name_had_by: Type.Optional(
      nullable(
        Type.Integer({
          description:
            'Id of the deleted account that had this name, 0 when its id is not known; null: there was none, or the name ' +
            'was accepted',
        }),
      ),
    ),
    roles_withheld: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Roles that name this user, but count for the deleted account until an admin accepts the name for this one',
      }),
    ),
  },
  { title: 'User' },
)

const changeable = {
  password: Type.String({ description: 'At least 12 characters; never returned' }),
  groups: Type.Optional(Type.Array(Type.String(), { maxItems: 200 })),
  email: Type.Optional(nullable(Type.String({ maxLength: 320 }))),
  enabled: Type.Optional(Type.Boolean()),
  passwordMustChange: Type.Optional(Type.Boolean({ description: 'The user has to change the password first' })),
}
const NewUser = Type.Object({ username: Type.String(), ...changeable })
const UserChanges = Type.Partial(NewUser)

/** The accounts, for admins. */
export function userRoutes(deps: { readonly accounts: Accounts }): FastifyPluginAsyncTypebox {
  const { accounts } = deps
  const show = (user: StoredUser) => shownUser(accounts, user)
  const requireAdminForUser = requireAdminFor(async (id, request) => {
    noteAudit(request, { name: (await accounts.find(id)).username })
  })
  return async (app) => {
    app.get(
      '/user',
      {
        onRequest: requireAdmin,
        schema: {
          tags: ['users'],
          summary: 'All users (admin)',
          operationId: 'listUsers',
          response: answers(listOf(User), 403),
        },
      },
      async () => asList(await Promise.all((await accounts.list()).map(show))),
    )

    app.post(
      '/user',
      {
        onRequest: requireAdmin,
        schema: {
          tags: ['users'],
          summary: 'Add a local user (admin)',
          body: NewUser,
          response: answers(User, 400, 403, 409),
        },
      },
      async (request) => {
        const user = await accounts.create(request.body)
        noteAudit(request, { name: user.username })
        return show(user)
      },
    )

    app.get(
      '/user/:id',
      {
        onRequest: requireAdminForUser,
        schema: {
          tags: ['users'],
          summary: 'One user (admin)',
          params: IdParams,
          response: answers(User, 400, 403, 404),
        },
      },
      async (request) => show(await accounts.find(idOf(request.params))),
    )

    await app.register(userChangeRoutes({ accounts, requireAdminForUser, show }))
  }
}

interface UserChangeDependencies {
  readonly accounts: Accounts
  readonly requireAdminForUser: ReturnType<typeof requireAdminFor>
  readonly show: (user: StoredUser) => ReturnType<typeof shownUser>
}

/** What changes one account. */
function userChangeRoutes({ accounts, requireAdminForUser, show }: UserChangeDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.put(
      '/user/:id',
      {
        onRequest: requireAdminForUser,
        schema: {
          tags: ['users'],
          summary:
            'Change the given properties of a user (admin); blocking or a new password ends the sessions and API tokens',
          description: 'For a user who is not local, only enabled can be changed',
          params: IdParams,
          body: UserChanges,
          response: answers(User, 400, 403, 404, 409),
        },
      },
      async (request) => show(await accounts.change(idOf(request.params), request.body, adminOf(request))),
    )

    app.post(
      '/user/:id/accept-name',
      {
        onRequest: requireAdminForUser,
        config: { audit: { action: 'user.accept-name', kind: 'user' } },
        schema: {
          tags: ['users'],
          summary:
            'Let the roles that name this user count for this account, although a deleted account had the same name (admin)',
          operationId: 'acceptUserName',
          params: IdParams,
          response: answers(User, 400, 403, 404),
        },
      },
      async (request) => show(await accounts.acceptName(idOf(request.params))),
    )

    app.delete(
      '/user/:id',
      {
        onRequest: requireAdminForUser,
        schema: {
          tags: ['users'],
          summary: 'Delete a user (admin)',
          params: IdParams,
          response: answers(Message, 400, 403, 404, 409),
        },
      },
      async (request) => {
        await accounts.remove(idOf(request.params), adminOf(request))
        return { message: 'The user was deleted' }
      },
    )
  }
}

/** An account as admins see it. */
async function shownUser(accounts: Accounts, user: StoredUser) {
  const { id, username, type, email, groups, enabled, passwordMustChange, createdAt, nameHadBy } = user
  return {
    id,
    username,
    type,
    email,
    groups: [...groups],
    enabled,
    password_must_change: passwordMustChange,
    created: isoTime(createdAt),
    name_had_by: nameHadBy,
    ...(nameHadBy === null ? {} : { roles_withheld: [...(await accounts.rolesWithheld(user))] }),
  }
}
