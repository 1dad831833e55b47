import { type Operation, PREFIX } from './document.js'

/** Who asks. */
export type ActorName =
  | 'nobody'
  | 'wrong token'
  | 'foreign token'
  | 'expired token'
  | 'user'
  | 'script'
  | 'operator'
  | 'admin'
  | 'other admin'
  | 'expendable'

export const ACTORS: readonly ActorName[] = [
  'nobody',
  'wrong token',
  'foreign token',
  'expired token',
  'user',
  'script',
  'operator',
  'admin',
  'other admin',
  'expendable',
]

type Id = number | string

/** A form that may be launched, as the list of forms shows it. */
export interface KnownForm {
  readonly name: string
  readonly fields: readonly KnownField[]
  readonly wizard?: readonly { readonly subform?: string; readonly name?: string }[]
}

export interface KnownField {
  readonly name: string
  readonly type?: string
  readonly values?: readonly unknown[]
  readonly multiple?: boolean
  readonly subform?: string
}

/** Ids of a collection that are kept: the newest are the most interesting. */
const MAX_IDS = 60
const MAX_STOCK = 20

/**
 * What requests can refer to: the things that the service has, learned from its answers. A collection is named by the
 * path before its parameter, such as `/job` of `/job/{id}`, so that new resources of the document are taken up.
 */
export interface World {
  readonly ids: Map<string, Id[]>
  /** Things that must stay as they are, such as the account of a caller, by collection. */
  readonly protected: Map<string, Set<Id>>
  /** Ids of the callers' own accounts. */
  readonly own: Map<ActorName, number>
  /** Bearers by who holds them. */
  readonly tokens: Map<ActorName, string>
  readonly refreshTokens: string[]
  /** Descriptions of files that were uploaded. */
  readonly uploads: unknown[]
  /** Learns the ids of a list or of one new thing from a successful answer. */
  learn(operation: Operation, path: string, answer: unknown, actor: ActorName): void
  forget(operation: Operation, path: string): void
}

export function createWorld(): World {
  const ids = new Map<string, Id[]>()
  const world: World = {
    ids,
    protected: new Map(),
    own: new Map(),
    tokens: new Map(),
    refreshTokens: [],
    uploads: [],
    learn(operation, path, answer, actor) {
      if (answer === null || typeof answer !== 'object') return
      const said = answer as Record<string, unknown>
      if (typeof said.refreshtoken === 'string') push(world.refreshTokens, said.refreshtoken, MAX_STOCK)
      if (operation.body?.contentType === 'multipart/form-data') return push(world.uploads, answer, MAX_STOCK)
      const collection = withoutPrefix(path)
      // What is everybody's own is only known of the caller who may lose it.
      if (collection.startsWith('/profile/') && actor !== 'expendable') return
      if (operation.method === 'GET' && Array.isArray(said.records)) {
        const listed = (said.records as Record<string, unknown>[]).flatMap((record) => idIn(record) ?? [])
        if (listed.length > 0) ids.set(collection, listed.slice(0, MAX_IDS).reverse())
      } else if (operation.method === 'POST') {
        const id = idIn(said)
        // Some actions on one thing make another of the same kind.
        const home = operation.path.endsWith('}') ? collection : withoutPrefix(operation.path).replace(/\/\{.*$/, '')
        if (id !== null) push(listOf(ids, home), id, MAX_IDS)
      }
    },
    forget(operation, path) {
      if (operation.method !== 'DELETE' || !operation.path.endsWith('}')) return
      const [collection, id] = [collectionOf(path), path.slice(path.lastIndexOf('/') + 1)]
      const known = ids.get(collection)
      // A few that are gone stay known: what is done to them must be answered too.
      if (known && known.length > 10) {
        ids.set(
          collection,
          known.filter((one) => String(one) !== id),
        )
      }
    },
  }
  return world
}

/** The collection that the last parameter of a path is an id of. */
export function collectionOf(path: string): string {
  return withoutPrefix(path).replace(/\/[^/]*$/, '')
}

function withoutPrefix(path: string): string {
  return path.startsWith(PREFIX) ? path.slice(PREFIX.length) : path
}

function idIn(record: Record<string, unknown>): Id | null {
  for (const name of ['id', 'sid', 'order', 'identifier']) {
    const value = record[name]
    if (typeof value === 'number' || typeof value === 'string') return value
  }
  return null
}

function listOf(ids: Map<string, Id[]>, collection: string): Id[] {
  const list = ids.get(collection) ?? []
  ids.set(collection, list)
  return list
}

function push<T>(list: T[], thing: T, most: number): void {
  list.push(thing)
  if (list.length > most) list.shift()
}
