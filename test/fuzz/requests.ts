import type { Chance } from '../chaos/kit/seed.js'
import type { Coverage } from './coverage.js'
import type { Operation } from './document.js'
import { type Draft, emptyDraft, setBody, setHeader, setJson } from './draft.js'
import { largestOperation, setLargest } from './largest.js'
import { refusedLaunch, validEvaluation, validLaunch, validSchedule } from './launches.js'
import { ASKING_FORM, FORMS, NODES } from './setting.js'
import { TOO_LONG, setMalformedUpload, setUpload } from './multipart.js'
import { BODY_TWISTS, TOO_LARGE_BYTES } from './twists-body.js'
import { HEAD_TWISTS } from './twists-head.js'
import { type Hint, STRANGE_IDS, validValue } from './values.js'
import { makeWild } from './wild.js'
import { ACTORS, type ActorName, type World, collectionOf } from './world.js'

/** What a request is made from. */
export interface Sources {
  readonly operations: readonly Operation[]
  readonly world: World
  readonly coverage: Coverage
  /** The account whose sign-in succeeds. */
  readonly account: Account
}

export interface Account {
  readonly username: string
  readonly password: string
}

/** Hashing a password takes as long as a hundred other requests. */
const HASHING = /^(POST \/auth\/(login|session)|POST \/user|PUT \/user|PUT \/profile)/
/** What an ended session, or a password of another day, would take away from the callers that stay. */
const OWN_TOKENS = ['token.create', 'token.revoke']
const ENDS_SESSION = [
  'auth.logout',
  'auth.session-end',
  'session.end-own',
  'profile.password',
  'token.create',
  'token.revoke',
]
/** Addresses that the requests say they come from: so many that a limit for one of them is met by chance only. */
const ADDRESSES = 5000

const SCHEDULING = /^(POST \/schedule|PUT \/schedule\/\{id\})$/
const EVALUATE = 'POST /forms/{name}/evaluate'
const NOBODYS_ID = '987654321'
const POWERFUL: readonly ActorName[] = ['admin', 'other admin']

/**
 * Request `number` of a run: drawn from the seed and the number alone, but for the ids and tokens that it refers to,
 * which are those of the service at hand.
 */
export function planRequest(number: number, chance: Chance, sources: Sources): Draft {
  const { operations, coverage } = sources
  const largest = largestOperation(operations, chance)
  if (largest) {
    const draft = draftFor(largest, actorFor(largest, 200, chance), 200, chance, sources)
    draft.headers.push(['x-request-id', `fuzz-${number}`])
    setLargest(draft, largest, chance)
    return draft
  }
  const goal = chance.next() < 0.35 ? coverage.nextGoal(chance) : null
  const mode = chance.next()
  const operation = goal?.operation ?? pickOperation(operations, chance)
  const status = goal?.status ?? (mode < 0.42 ? 200 : null)
  const draft = draftFor(operation, actorFor(operation, status, chance), status, chance, sources)
  draft.headers.push(['x-request-id', `fuzz-${number}`])
  if (status !== null) aim(draft, operation, status, chance, sources)
  else if (mode < 0.86) spoil(draft, operation, chance)
  else makeWildOf(draft, operation, chance, sources)
  return draft
}

function pickOperation(operations: readonly Operation[], chance: Chance): Operation {
  const operation = chance.pick(operations)
  return HASHING.test(operation.key) && chance.next() < 0.75 ? chance.pick(operations) : operation
}

/** Whoever is likely to be answered with the status. */
function actorFor(operation: Operation, status: number | null, chance: Chance): ActorName {
  if ((status === 429 || status === 409) && OWN_TOKENS.includes(operation.auditAction ?? '')) return 'user'
  if (status === 403 && operation.auditAction === 'token.create') return 'script'
  if (operation.auditAction !== null && ENDS_SESSION.includes(operation.auditAction)) {
    return status === 401 ? 'nobody' : 'expendable'
  }
  if (status === 401) return chance.pick(['nobody', 'wrong token', 'foreign token', 'expired token'])
  if (status === 409) return 'admin'
  if (status === 403) return chance.pick(['user', 'expendable'])
  if (status !== null) return chance.pick(['admin', 'admin', 'operator', 'other admin', 'user', 'script'])
  return chance.pick(ACTORS)
}

function draftFor(
  operation: Operation,
  actor: ActorName,
  status: number | null,
  chance: Chance,
  sources: Sources,
): Draft {
  const draft = emptyDraft(operation.method, pathOf(operation, actor, chance, sources.world), actor)
  draft.operation = operation.key
  draft.query = queryOf(operation, chance)
  draft.headers.push(['host', 'fuzz.example'], ['x-forwarded-for', addressOf(chance.between(1, ADDRESSES))])
  const token = sources.world.tokens.get(actor)
  if (token !== undefined) draft.headers.push(['authorization', `Bearer ${token}`])
  // It is for pages of the service only, but for the requests that should be refused.
  if (operation.key === 'POST /auth/session' && status !== 403) {
    draft.headers.push(['sec-fetch-site', 'same-origin'], ['x-holdfast-page', '1'])
  }
  if (operation.body?.contentType === 'multipart/form-data') setUpload(draft, chance)
  else if (operation.key === 'POST /job') setJson(draft, validLaunch(chance, sources.world))
  else if (SCHEDULING.test(operation.key)) setJson(draft, validSchedule(chance, sources.world))
  else if (operation.key === EVALUATE) setEvaluation(draft, chance, sources.world)
  else if (operation.key === 'POST /expression') setAskedField(draft, 'sorted', chance)
  else if (operation.key === 'POST /query') setAskedField(draft, 'rows', chance)
  else if (operation.body)
    setJson(draft, validValue(operation.body.schema, chance, hintFor(operation, status, sources)))
  return draft
}

/** What the pages of the product family send to get the value of one field. */
function setAskedField(draft: Draft, fieldName: string, chance: Chance): void {
  setJson(draft, { formName: ASKING_FORM, fieldName, values: { list: [chance.between(1, 9), chance.between(1, 9)] } })
}

/** Values that fit a form, for that form. */
function setEvaluation(draft: Draft, chance: Chance, world: World): void {
  const { formName, ...body } = validEvaluation(chance, world)
  draft.path = draft.path.replace(/[^/]+(?=\/evaluate$)/, encodeURIComponent(formName))
  setJson(draft, body)
}

/** The path with ids that exist, as far as any are known; those that must stay are only for whoever may not change them. */
function pathOf(operation: Operation, actor: ActorName, chance: Chance, world: World): string {
  return filled(operation, (parameter, before) => {
    const collection = collectionOf(`${before}/x`)
    const kept = operation.method === 'GET' || !POWERFUL.includes(actor) ? undefined : world.protected.get(collection)
    const known = (world.ids.get(collection) ?? []).filter((id) => !kept?.has(id))
    if (known.length > 0) return String(chance.pick(known))
    if (parameter === 'name') return encodeURIComponent(chance.pick(FORMS).name)
    if (parameter === 'nodeId') return chance.pick(NODES)
    return parameter === 'order' ? String(chance.between(1, 3)) : NOBODYS_ID
  })
}

/** The path of an operation with something in the place of each parameter. */
function filled(operation: Operation, valueOf: (parameter: string, before: string) => string): string {
  return operation.path
    .split('/')
    .slice(1)
    .reduce((before, segment) => {
      const parameter = /^\{(.+)\}$/.exec(segment)?.[1]
      return `${before}/${parameter === undefined ? segment : valueOf(parameter, before)}`
    }, '')
}

/** Texts of queries that a schema alone cannot know. */
function knownText(operation: Operation, name: string, chance: Chance): string | undefined {
  if (name === 'runner') return 'test-runner'
  if (name === 'cron') return chance.pick(['0 3 * * *', '30 2 * * 1-5', '*/5 * * * *'])
  if (name === 'time_zone') return chance.pick(['UTC', 'Europe/Berlin', 'Mars/Olympus'])
  return operation.key === 'GET /config/form' && name === 'name' ? chance.pick(FORMS).name : undefined
}

function queryOf(operation: Operation, chance: Chance): string | null {
  const parts = operation.parameters
    .filter((parameter) => parameter.in === 'query' && chance.next() < 0.4)
    .map(({ name, schema }) => {
      const numbers = ['records', 'after', 'limit', 'offset', 'before', 'count'].includes(name)
      const flags = ['text', 'output', 'verbose'].includes(name)
      const value = numbers
        ? chance.between(0, 50)
        : flags
          ? chance.pick(['true', 'false'])
          : (knownText(operation, name, chance) ?? validValue(schema ?? {}, chance, () => undefined))
      return `${name}=${encodeURIComponent(Buffer.from(String(value)).toString())}`
    })
  return parts.length > 0 ? parts.join('&') : null
}

function hintFor(operation: Operation, status: number | null, { world, account }: Sources): Hint {
  return (property, chance) => {
    const signIn = operation.key === 'POST /auth/login' || operation.key === 'POST /auth/session'
    // Wrong passwords lock an account, so they are for another one than the one that signs in.
    const isRight = status === 200
    switch (property) {
      case 'username':
        if (signIn) return isRight ? account.username : 'locked-out'
        return status === 409 ? account.username : `someone-${chance.between(1, 400)}`
      case 'password':
        return signIn && !isRight ? 'wrong' : account.password
      case 'currentPassword':
        return isRight ? account.password : 'wrong'
      case 'refreshtoken':
        return world.refreshTokens.at(-1)
      case 'groups':
        return chance.pick([[], ['operators'], ['others', 'more']])
      case 'address':
        // Nobody listens there, so a dial ends at once and leads nowhere.
        return `http://127.0.0.1:${status === 409 ? 1 : chance.between(1, 300)}`
      case 'url':
        return `http://127.0.0.1:${chance.between(1, 300)}/hook`
      case 'events':
        return operation.key.includes('/notification-target')
          ? chance.pick([[], ['job.ended', 'runner.lost']])
          : undefined
      case 'fingerprint':
        return operation.key === 'POST /runner' ? null : undefined
      case 'email':
        return chance.pick([null, 'someone@example.org'])
      case 'expiryDays':
        return 5
      case 'name':
        if (!operation.key.includes('/credential')) return undefined
        return status === 409 ? 'router' : chance.pick(['router', `key ${chance.between(1, 300)}`])
      default:
        return undefined
    }
  }
}

/** Does what should lead to a status. */
function aim(draft: Draft, operation: Operation, status: number, chance: Chance, sources: Sources): void {
  if (status === 404) {
    draft.path = filled(operation, () => NOBODYS_ID)
    if (operation.key === 'POST /job') setJson(draft, { formName: 'nothing of this name', rawFormData: {} })
  }
  if (status === 403 && operation.key === 'POST /job') setJson(draft, { formName: 'of operators', rawFormData: {} })
  if (status === 422 && operation.key === 'POST /job') setJson(draft, refusedLaunch(chance, sources.world))
  if (status === 429) setHeader(draft, 'x-forwarded-for', addressOf(0))
  const isUpload = operation.body?.contentType === 'multipart/form-data'
  if (status === 413 && !isUpload) setJson(draft, { a: 'x'.repeat(TOO_LARGE_BYTES) })
  if ((status === 413 || status === 400) && isUpload) {
    draft.twist = setMalformedUpload(draft, chance, status === 413 ? TOO_LONG : undefined)
    draft.kind = 'near-valid'
  }
  const own = sources.world.own.get(draft.actor)
  if (status === 409 && operation.body && operation.method === 'PUT') completeBody(draft, operation, chance, sources)
  if (status === 409 && operation.path.endsWith('/user/{id}') && own !== undefined) {
    // Nobody may block or delete their own account.
    draft.path = filled(operation, () => String(own))
    if (operation.body) setJson(draft, { enabled: false })
  }
  if (status === 415) setBody(draft, Buffer.from('text'), 'text/plain')
  if (status === 400 && !isUpload) {
    if (operation.body) twisted(draft, operation, chance, BODY_TWISTS)
    else {
      draft.path = filled(operation, () => chance.pick(STRANGE_IDS))
      if (draft.path === operation.path) draft.query = 'user_type=nobody&before=x&after=x&offset=x'
      if (operation.method !== 'GET' && chance.next() < 0.5) setBody(draft, Buffer.from('{"a":'), 'application/json')
    }
  }
}

/** Every property that the body may have: a change meets what it conflicts with. */
function completeBody(draft: Draft, operation: Operation, chance: Chance, sources: Sources): void {
  const schema = operation.body?.schema ?? {}
  const all = { ...schema, required: Object.keys(schema.properties ?? {}) }
  setJson(draft, validValue(all, chance, hintFor(operation, 409, sources)))
}

/** Makes one thing of a request wrong. */
function spoil(draft: Draft, operation: Operation, chance: Chance): void {
  if (operation.body?.contentType === 'multipart/form-data' && chance.next() < 0.7) {
    draft.twist = setMalformedUpload(draft, chance)
    draft.kind = 'near-valid'
    return
  }
  twisted(draft, operation, chance, draft.body && chance.next() < 0.6 ? BODY_TWISTS : HEAD_TWISTS)
}

function twisted(draft: Draft, operation: Operation, chance: Chance, twists: typeof BODY_TWISTS): void {
  draft.kind = 'near-valid'
  for (const twist of chance.shuffle(twists)) {
    if (twist.apply(draft, chance, operation.body?.schema ?? null)) {
      draft.twist = twist.name
      return
    }
  }
}

function makeWildOf(draft: Draft, operation: Operation, chance: Chance, sources: Sources): void {
  const actor = chance.pick<ActorName>(['nobody', 'wrong token', 'user', 'user'])
  const ends = operation.auditAction !== null && ENDS_SESSION.includes(operation.auditAction)
  const harmless = draftFor(operation, ends ? 'nobody' : actor, null, chance, sources)
  Object.assign(draft, harmless)
  makeWild(draft, chance)
  draft.operation = null
}

function addressOf(number: number): string {
  return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`
}
