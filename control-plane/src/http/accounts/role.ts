import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { Accounts } from '../../auth/accounts/accounts.js'
import type { Role, RoleConfig } from '../../auth/roles/role-config.js'
import { grantOf, isEveryone, roleSubjectOf } from '../../auth/roles/roles.js'
import type { StoredUser } from '../../store/accounts/users.js'
import { requireAdmin } from '../route/guards.js'
import { answers, asList, listOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

/** Most accounts that the answer names for each role. All of them are counted. */
const MAX_NAMED = 200

const names = (description: string) => Type.Array(Type.String(), { description })
const limit = (description: string) => nullable(names(`${description}; null: not limited by this role`))

const RoleRecord = Type.Object(
  {
    name: Type.String(),
    everyone: Type.Boolean({ description: 'Everybody has this role, so no accounts are listed' }),
    groups: names('Whose members have it, such as local/ops'),
    users: names('Who has it by name, such as ldap/jdoe'),
    options: Type.Record(Type.String(), Type.Boolean()),
    runners: limit('The runners on which its members may launch'),
    credentials: limit('Patterns of the credentials that its members may choose'),
    scopes: limit('What API tokens of its members may be used for'),
    accounts: Type.Array(
      Type.Object({
        id: Type.Integer(),
        username: Type.String(),
        type: Type.String(),
        enabled: Type.Boolean(),
      }),
      { description: `The accounts that have it now, at most ${MAX_NAMED}` },
    ),
    account_count: Type.Integer({ description: 'How many accounts have it now; 0 for a role that everybody has' }),
  },
  { title: 'Role' },
)

/** The roles of config.yaml, for admins. They are changed in that file. */
export function roleRoutes(deps: {
  readonly accounts: Accounts
  readonly roles: { current(): Promise<RoleConfig> }
}): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/role',
      {
        onRequest: requireAdmin,
        schema: {
          tags: ['users'],
          summary: 'The roles of config.yaml, and which accounts have them (admin)',
          operationId: 'listRoles',
          response: answers(listOf(RoleRecord), 403),
        },
      },
      async () => {
        const [config, users] = await Promise.all([deps.roles.current(), deps.accounts.list()])
        const members = membersByRole(users, config)
        return asList(config.roles.map((role) => show(role, members.get(role.name) ?? [])))
      },
    )
  }
}

function membersByRole(users: readonly StoredUser[], config: RoleConfig): Map<string, StoredUser[]> {
  const members = new Map<string, StoredUser[]>()
  for (const user of users) {
    for (const name of grantOf(roleSubjectOf(user), config).roles) {
      if (isEveryone(name)) continue
      const known = members.get(name)
      if (known) known.push(user)
      else members.set(name, [user])
    }
  }
  return members
}

function show(role: Role, members: readonly StoredUser[]): Static<typeof RoleRecord> {
  const { name, groups = [], users = [], options = {}, runners = null, credentials = null, scopes = null } = role
  return {
    name,
    everyone: isEveryone(name),
    groups: [...groups],
    users: [...users],
    options: { ...options },
    runners: runners && [...runners],
    credentials: credentials && [...credentials],
    scopes: scopes && [...scopes],
    accounts: members.slice(0, MAX_NAMED).map(({ id, username, type, enabled }) => ({ id, username, type, enabled })),
    account_count: members.length,
  }
}
