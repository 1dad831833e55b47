import { createHmac, randomBytes } from 'node:crypto'
import type { Product } from '../support/product.js'
import type { Account } from './requests.js'
import type { ActorName, World } from './world.js'

const PASSWORD = 'a long enough password'

/** The accounts that requests come from. */
export interface Callers {
  /** The account that requests sign in with. */
  readonly account: Account
  /** Signs those in again whose session has ended, and makes the expendable account anew when it is of no use. */
  mend(): Promise<void>
  /** What a list answers one of them. */
  ask(actor: ActorName, path: string): Promise<unknown>
}

const GROUPS: Readonly<Partial<Record<ActorName, readonly string[]>>> = {
  user: [],
  script: [],
  operator: ['operators'],
  admin: ['admins'],
  'other admin': ['admins'],
}

export async function createCallers(product: Product, world: World, tokenSecret: string): Promise<Callers> {
  const { admin } = product
  const kept = new Set<number | string>([1])
  world.protected.set('/user', kept)
  // The keeper's own sign-in: whoever ended it would end the whole run.
  const { records: sessions } = await admin.get<{ records: { id: string; current: boolean }[] }>('/profile/sessions')
  world.protected.set('/session', new Set(sessions.filter(({ current }) => current).map(({ id }) => id)))
  let expendables = 0

  const account = async (username: string, groups: readonly string[]): Promise<number> => {
    const { id } = await admin.post<{ id: number }>('/user', { username, password: PASSWORD, groups })
    return id
  }
  const accountOf = (actor: ActorName): string => `keeper-${actor.replaceAll(' ', '-')}`

  const tokenFor = async (username: string): Promise<string> => {
    const response = await fetch(`${product.address}/api/v2/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': `172.16.${randomBytes(2).join('.')}` },
      body: JSON.stringify({ username, password: PASSWORD }),
    })
    const { token } = (await response.json()) as { token?: string }
    if (token === undefined) throw new Error(`the sign-in of ${username} was answered ${response.status}`)
    return token
  }

  const signIn = async (actor: ActorName): Promise<void> => {
    if (actor === 'expendable') {
      expendables += 1
      await account(`expendable-${expendables}`, [])
      world.tokens.set(actor, await tokenFor(`expendable-${expendables}`))
      return
    }
    const token = await tokenFor(accountOf(actor))
    world.tokens.set(actor, actor === 'script' ? await apiTokenWith(product, token) : token)
  }

  const isSignedIn = async (actor: ActorName): Promise<boolean> => {
    const response = await fetch(`${product.address}/api/v2/profile`, {
      headers: { authorization: `Bearer ${world.tokens.get(actor) ?? ''}` },
    })
    await response.arrayBuffer()
    return response.status === 200
  }

  const actors = [...Object.keys(GROUPS), 'expendable'] as ActorName[]
  for (const [actor, groups] of Object.entries(GROUPS)) {
    const id = await account(accountOf(actor as ActorName), groups)
    kept.add(id)
    world.own.set(actor as ActorName, id)
  }
  kept.add(await account('signs-in', []))
  await account('locked-out', [])
  for (const actor of actors) await signIn(actor)
  world.tokens.set('wrong token', 'not.a.token')
  world.tokens.set('foreign token', signed({ sub: '1', sid: 'x', access: true, exp: 4_000_000_000 }, 'another secret'))
  world.tokens.set('expired token', signed({ sub: '1', sid: 'x', access: true, exp: 1_000_000_000 }, tokenSecret))
  return {
    account: { username: 'signs-in', password: PASSWORD },
    async ask(actor, path) {
      const headers = { authorization: `Bearer ${world.tokens.get(actor) ?? ''}` }
      return (await fetch(`${product.address}/api/v2${path}`, { headers })).json() as Promise<unknown>
    },
    async mend() {
      for (const actor of actors) if (!(await isSignedIn(actor))) await signIn(actor)
    },
  }
}

async function apiTokenWith(product: Product, token: string): Promise<string> {
  const response = await fetch(`${product.address}/api/v2/profile/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'x-forwarded-for': '172.17.0.1' },
    body: JSON.stringify({ name: 'script' }),
  })
  return ((await response.json()) as { token: string }).token
}

/** A token as the service signs them. */
function signed(claims: Readonly<Record<string, unknown>>, secret: string): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iss: 'holdfast', iat: 1, ...claims })}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}
