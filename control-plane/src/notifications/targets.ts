import type { Clock } from '../time/clock.js'
import type { SecretBox } from '../credentials/encryption/secret-box.js'
import { ConflictError, InvalidInputError, NotFoundError } from '../errors.js'
import type { AddressRules } from '../sources/address-rules.js'
import { checkedUrl } from '../sources/http-request.js'
import { SourceProblem } from '../sources/question.js'
import {
  type NotificationTarget,
  changeTarget,
  countTargets,
  deleteTarget,
  findTarget,
  insertTarget,
  listTargets,
} from '../store/service/notification-targets.js'
import { ownerOfTarget } from '../store/service/sealed-columns.js'
import type { Store } from '../store/store.js'
import type { TargetKindName } from './kinds/kinds.js'

/** Most targets. Every event may become one delivery for each of them. */
const MAX_TARGETS = 50

/** What an admin sets for a target. */
export interface TargetWish {
  readonly name: string
  readonly kind: TargetKindName
  readonly url: string
  /** Undefined: a new target gets a random one, and a target that is changed keeps its own. */
  readonly secret?: string
  readonly events: readonly string[]
  readonly isEnabled: boolean
}

/** The targets, for admins. */
export interface Targets {
  list(): Promise<NotificationTarget[]>
  /** @throws NotFoundError */
  find(id: number): Promise<NotificationTarget>
  /** @returns the secret, too, if one was made. It is shown only this time. @throws InvalidInputError, ConflictError */
  create(wish: TargetWish, by: string): Promise<{ readonly target: NotificationTarget; readonly secret: string | null }>
  /** @throws NotFoundError, InvalidInputError */
  change(id: number, wish: Partial<Omit<TargetWish, 'name' | 'kind'>>): Promise<NotificationTarget>
  /** @throws NotFoundError */
  remove(id: number): Promise<void>
}

/** Makes the {@link Targets} of this control plane. */
export function createTargets(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly random: (bytes: number) => Buffer
  readonly box: Pick<SecretBox, 'seal'>
  readonly addresses: AddressRules
}): Targets {
  const { store, clock, random, box, addresses } = deps
  const sealed = (secret: string, name: string) => box.seal(secret, ownerOfTarget(name))

  async function find(id: number): Promise<NotificationTarget> {
    const target = await findTarget(store.read, id)
    if (target) return target
    throw new NotFoundError('no_such_target', `There is no notification target ${id}`)
  }

  return {
    list: () => listTargets(store.read),
    find,
    async create(wish, by) {
      requireUrl(addresses, wish.url)
      const { name, kind, url, events, isEnabled } = wish
      const made = wish.secret === undefined ? random(32).toString('base64url') : null
      const secret = sealed(wish.secret ?? made ?? '', name)
      const row = { name, kind, url, secret, events, isEnabled, createdAt: clock.now(), createdBy: by }
      const target = await store.write('notifications.target', async (queries) => {
        // Counted here, because no other request can add a target between this and the commit.
        if ((await countTargets(queries)) >= MAX_TARGETS) {
          throw new ConflictError('too_many_targets', `There may be ${MAX_TARGETS} notification targets`)
        }
        return insertTarget(queries, row)
      })
      if (target) return { target, secret: made }
      throw new ConflictError('name_taken', `There is a notification target named '${name}' already`)
    },
    async change(id, { url, secret, events, isEnabled }) {
      const { name } = await find(id)
      if (url !== undefined) requireUrl(addresses, url)
      const changes = { url, events, isEnabled, secret: secret === undefined ? undefined : sealed(secret, name) }
      const changed = await store.write('notifications.change', (queries) => changeTarget(queries, id, changes))
      return changed ?? find(id)
    },
    async remove(id) {
      const now = clock.now()
      if (await store.write('notifications.remove', (queries) => deleteTarget(queries, id, now))) return
      throw new NotFoundError('no_such_target', `There is no notification target ${id}`)
    },
  }
}

/** Checks the URL of a target. A host name in it is resolved and checked at each attempt, because its address may change. */
function requireUrl(addresses: AddressRules, url: string): void {
  try {
    checkedUrl(addresses, url)
  } catch (error) {
    if (!(error instanceof SourceProblem)) throw error
    throw new InvalidInputError('target_url', `url cannot be used: ${error.message}`, undefined, { cause: error })
  }
}
