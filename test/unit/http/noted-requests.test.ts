import { expect, test } from 'vitest'
import { profileTokenRoutes } from '../../../control-plane/src/http/accounts/profile-tokens.js'
import { profileRoutes } from '../../../control-plane/src/http/accounts/profile.js'
import { sessionRoutes } from '../../../control-plane/src/http/accounts/session.js'
import { userRoutes } from '../../../control-plane/src/http/accounts/user.js'
import { joinTokenRoutes } from '../../../control-plane/src/http/runners/join-token.js'
import { orphanRoutes } from '../../../control-plane/src/http/runners/orphan.js'
import { runnerAddressRoutes } from '../../../control-plane/src/http/runners/runner-address.js'
import { credentialRoutes } from '../../../control-plane/src/http/service/credential.js'
import { notificationTargetRoutes } from '../../../control-plane/src/http/service/notification-target.js'
import { ADMIN, ANN, routeApp } from './route-app.js'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
type Routes = Parameters<typeof routeApp>[0]

const USER = {
  id: 5,
  username: 'ben',
  type: 'local',
  email: null,
  groups: [],
  enabled: true,
  passwordMustChange: false,
  createdAt: 0,
  nameHadBy: null,
}
const SESSION = { id: 'sid', kind: 'login', name: null, network: null, createdAt: 0, expiresAt: 0, lastUsedAt: null }
const TOKEN = { sid: 't1', name: 'ci', createdAt: 0, expiresAt: 0, lastUsedAt: null, scopes: null }
const ADDRESS = {
  id: 4,
  address: 'north:5000',
  name: null,
  fingerprint: null,
  createdAt: 0,
  createdBy: 'root',
  node: null,
  problem: null,
}
const TARGET = {
  id: 6,
  name: 'chat',
  kind: 'webhook',
  url: 'https://chat',
  events: [],
  isEnabled: true,
  createdAt: 0,
  createdBy: 'root',
}

/** A part of the service that remembers what it was asked to do. */
function parts(answers: Readonly<Record<string, unknown>>) {
  const done: string[] = []
  const entries = Object.entries(answers).map(([name, answer]) => [
    name,
    (...args: unknown[]) => {
      done.push(`${name} ${args.map((arg) => (typeof arg === 'object' ? '…' : String(arg))).join(' ')}`.trim())
      return Promise.resolve(answer)
    },
  ])
  return { done, fake: Object.fromEntries(entries) as never }
}

const accounts = () => parts({ find: USER, create: USER, change: USER, remove: undefined, list: [USER] })
const targets = () =>
  parts({ find: TARGET, change: TARGET, remove: undefined, create: { target: TARGET, secret: 'made' } })

interface Case {
  readonly call: readonly [Method, string, object?]
  readonly of: () => { readonly done: string[]; readonly fake: never }
  readonly routes: (fake: never) => Routes
  readonly noted: object
  readonly done: readonly string[]
}

const users = { of: accounts, routes: (fake: never) => userRoutes({ accounts: fake }) }
const joinTokens = {
  of: () => parts({ exists: true, remove: undefined, create: { token: 'x', record: { id: 8, expiresAt: 0 } } }),
  routes: (fake: never) => joinTokenRoutes({ joinTokens: fake }),
}
const addresses = {
  of: () => parts({ exists: true, remove: undefined, add: ADDRESS }),
  routes: (fake: never) => runnerAddressRoutes({ addresses: fake }),
}
const hooks = { of: targets, routes: (fake: never) => notificationTargetRoutes({ targets: fake, deliveries: fake }) }
const sessions = {
  of: () => parts({ endOwn: SESSION, end: { ...SESSION, username: 'ben' } }),
  routes: (fake: never) => sessionRoutes({ sessions: fake }),
}
const orphans = {
  of: () => parts({ get: { runner: { name: 'north' } }, decide: undefined }),
  routes: (fake: never) => orphanRoutes({ orphans: fake, hub: fake }),
}
const RUN = '0123456789abcdef'.repeat(2)
const NEW_TARGET = { name: 'chat', url: 'https://chat', events: [] }

test.each<Case>([
  { ...users, call: ['GET', '/user/5'], noted: { name: 'ben' }, done: ['find 5', 'find 5'] },
  {
    ...users,
    call: ['POST', '/user', { username: 'ben', password: 'long enough' }],
    noted: { name: 'ben' },
    done: ['create …'],
  },
  { ...users, call: ['PUT', '/user/5', {}], noted: { name: 'ben' }, done: ['find 5', 'change 5 … …'] },
  { ...users, call: ['DELETE', '/user/5'], noted: { name: 'ben' }, done: ['find 5', 'remove 5 …'] },
  {
    ...joinTokens,
    call: ['POST', '/runner/join-tokens', { name: 'north' }],
    noted: { name: 'north' },
    done: ['create … root'],
  },
  { ...joinTokens, call: ['POST', '/runner/join-tokens'], noted: {}, done: ['create … root'] },
  {
    ...joinTokens,
    call: ['DELETE', '/runner/join-tokens/8'],
    noted: {},
    done: ['exists 8', 'remove 8 root'],
  },
  {
    ...addresses,
    call: ['POST', '/runner', { address: 'north:5000' }],
    noted: { name: 'north:5000' },
    done: ['add … root'],
  },
  { ...addresses, call: ['DELETE', '/runner/addresses/4'], noted: {}, done: ['exists 4', 'remove 4 root'] },
  {
    ...hooks,
    call: ['POST', '/notification-target', NEW_TARGET],
    noted: { name: 'chat' },
    done: ['create … root'],
  },
  {
    ...hooks,
    call: ['PUT', '/notification-target/6', { enabled: false }],
    noted: { name: 'chat' },
    done: ['find 6', 'change 6 …'],
  },
  { ...hooks, call: ['DELETE', '/notification-target/6'], noted: { name: 'chat' }, done: ['find 6', 'remove 6'] },
  { ...sessions, call: ['DELETE', '/profile/sessions/sid'], noted: { id: 'sid' }, done: ['endOwn sid …'] },
  { ...sessions, call: ['DELETE', '/session/sid'], noted: { id: 'sid', name: 'ben' }, done: ['end sid'] },
  {
    ...orphans,
    call: ['POST', '/runner/2/orphans/adopt', { run_id: RUN }],
    noted: { name: 'north' },
    done: ['get 2', `decide 2 ${RUN} adopt root`],
  },
  {
    ...orphans,
    call: ['POST', '/runner/2/orphans/end', { run_id: RUN }],
    noted: { name: 'north' },
    done: ['get 2', `decide 2 ${RUN} end root`],
  },
  {
    ...orphans,
    call: ['POST', '/runner/2/orphans/forget', { run_id: RUN }],
    noted: { name: 'north' },
    done: ['get 2', `decide 2 ${RUN} forget root`],
  },
  {
    of: () => parts({ find: { name: 'router' }, remove: undefined }),
    routes: (fake) => credentialRoutes({ credentials: fake }),
    call: ['DELETE', '/credential/3'],
    noted: { name: 'router' },
    done: ['find 3', 'remove 3 root'],
  },
  {
    of: () => parts({ create: { token: 'x', record: TOKEN }, requireAllowed: undefined }),
    routes: (fake) => profileTokenRoutes({ apiTokens: fake }),
    call: ['POST', '/profile/tokens', { name: 'ci' }],
    noted: { id: 't1', name: 'ci' },
    done: ['requireAllowed …', 'create … …'],
  },
  {
    of: () => parts({ revoke: { sid: 't1', name: null } }),
    routes: (fake) => profileTokenRoutes({ apiTokens: fake }),
    call: ['DELETE', '/profile/tokens/t1'],
    noted: { id: 't1' },
    done: ['revoke … t1'],
  },
  {
    of: () => parts({ changeOwnPassword: undefined }),
    routes: (fake) => profileRoutes({ accounts: fake }),
    call: ['PUT', '/profile', { password: 'new', currentPassword: 'old' }],
    noted: {},
    done: ['changeOwnPassword … … 127.0.0.1'],
  },
])(
  '$call.0 $call.1 is done, and its record names the object',
  async ({ call: [method, path, json], of, routes, ...expected }) => {
    const { done, fake } = of()
    const { call, noted, app } = await routeApp(routes(fake), ADMIN)
    const answer = await call(method, path, json === undefined ? {} : { json })
    expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200 })
    expect(noted()).toEqual(expected.noted)
    expect(done).toEqual(expected.done)
    await app.close()
  },
)

test('an object is named in the record also when the caller is no admin', async () => {
  const { done, fake } = accounts()
  const { call, noted } = await routeApp(userRoutes({ accounts: fake }), ANN)
  expect((await call('DELETE', '/user/5')).status).toBe(403)
  expect([noted(), done]).toEqual([{ name: 'ben' }, ['find 5']])
})

test('a new secret of a target is shown once, and only when the service made it', async () => {
  const made = await routeApp(notificationTargetRoutes({ targets: targets().fake, deliveries: {} as never }), ADMIN)
  expect((await made.call('POST', '/notification-target', { json: NEW_TARGET })).body).toMatchObject({ secret: 'made' })
  const given = parts({ create: { target: TARGET, secret: null } })
  const own = await routeApp(notificationTargetRoutes({ targets: given.fake, deliveries: {} as never }), ADMIN)
  const { body } = await own.call('POST', '/notification-target', { json: { ...NEW_TARGET, secret: 'x'.repeat(16) } })
  expect(body).not.toHaveProperty('secret')
})

test('a profile has only what is so', async () => {
  const profileOf = async (caller: typeof ANN, groupsLeftOut: number) => {
    const { call } = await routeApp(profileRoutes({ accounts: parts({ find: { groupsLeftOut } }).fake }), caller)
    return (await call('GET', '/profile')).body
  }
  const plain = await profileOf(ANN, 0)
  for (const name of ['email', 'groupsLeftOut', 'rolesWithheld', 'passwordMustChange'])
    expect(plain).not.toHaveProperty(name)
  const more = { email: 'a@b.example', rolesWithheld: ['ops'], passwordMustChange: true }
  expect(await profileOf({ ...ANN, ...more }, 3)).toMatchObject({ ...more, groupsLeftOut: 3 })
})

test('an own session is marked as that of the request', async () => {
  const listOwn = [SESSION, { ...SESSION, id: 's1' }]
  const { call } = await routeApp(sessionRoutes({ sessions: parts({ listOwn }).fake }))
  const { body } = await call('GET', '/profile/sessions')
  expect((body.records as { current: boolean }[]).map(({ current }) => current)).toEqual([false, true])
})
