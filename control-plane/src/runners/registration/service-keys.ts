import {
  MAX_SUCCESSIONS,
  type Succession,
  createSigningKey,
  fingerprintOf,
  publicKeyOf,
  succeed,
} from '@holdfast/protocol'
import type { Logger } from 'pino'
import type { Clock } from '../../time/clock.js'
import { type SecretBox, SecretBoxError } from '../../credentials/encryption/secret-box.js'
import { ConflictError, UnavailableError, messageOf } from '../../errors.js'
import type { Bus } from '../../nodes/bus.js'
import {
  type StoredServiceKey,
  deleteServiceKeys,
  insertServiceKey,
  listServiceKeys,
  retireServiceKey,
} from '../../store/runners/service-keys.js'
import { ownerOfServiceKey } from '../../store/service/sealed-columns.js'
import type { Queries, Store } from '../../store/store.js'
import type { Timers } from '../../time/timers.js'
import type { ServiceIdentity, ServiceIdentitySource } from '../socket/handshake.js'

/** How often to look for a rotation by another node, in milliseconds. Usually the bus announces it at once. */
const LOOK_MS = 5000

/** The public facts about the service key. */
export interface ServiceKeyView {
  readonly fingerprint: string
  readonly createdAt: number
  /** Fingerprints of earlier keys from which runners can follow to this key, the newest first. */
  readonly previous: readonly string[]
}

/** The options of a replacement of the service key. */
export interface Rotation {
  /**
   * The fingerprint of the current key, as the caller knows it. If the current key is another one, this is a conflict.
   * So a repeated request rotates only once.
   */
  readonly from: string | null
  /** True: the old key does not sign the new one. An admin then has to tell each runner to trust the new key. */
  readonly breakSuccession: boolean
}

/**
 * The key by which every node of this service proves to runners who it is. It is made at the first start and stored in
 * the database.
 */
export interface ServiceKeys extends ServiceIdentitySource {
  view(): ServiceKeyView
  /** Why no runner can connect, in a sentence for people; null: they can. */
  trouble(): string | null
  /**
   * Replaces the key.
   * @throws ConflictError, UnavailableError when the old key should sign the new one and cannot be opened
   */
  rotate(rotation: Rotation, by: string): Promise<ServiceKeyView>
  /** Reads what other nodes changed. */
  refresh(): Promise<void>
  close(): Promise<void>
}

/** What the service keys need of other parts. */
export interface ServiceKeyDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Logger
  readonly bus: Bus
  readonly box: SecretBox
}

/** Reads the keys, and makes the first one when there is none. Nodes that start together get the same one. */
export async function openServiceKeys(deps: ServiceKeyDependencies): Promise<ServiceKeys> {
  const { store, log, bus, box } = deps
  let keys = await store.write('service-key.make', async (queries) => {
    const stored = await listServiceKeys(queries)
    if (stored.length > 0) return stored
    await insertServiceKey(queries, newKey(deps))
    return listServiceKeys(queries)
  })
  let opened: ServiceIdentity | null = null
  let looking: Promise<void> = Promise.resolve()

  function take(stored: readonly StoredServiceKey[]): void {
    if (stored[0]?.publicKey !== keys[0]?.publicKey) log.info(shown(stored), 'the key of the service was replaced')
    if (stored[0]?.publicKey !== keys[0]?.publicKey || stored.length !== keys.length) opened = null
    keys = [...stored]
  }

  async function refresh(): Promise<void> {
    take(await listServiceKeys(store.read))
  }

  const lookQuietly = () => {
    looking = refresh().catch((error: unknown) => {
      log.debug({ reason: messageOf(error) }, 'the key of the service could not be read again; tried again soon')
    })
  }
  const stop = whenOthersMayHaveChanged(deps, lookQuietly)

  const service: ServiceKeys = {
    current() {
      if (opened) return opened
      const today = todayOf(keys)
      opened = { privatePem: privatePemOf(today, box), publicKey: today.publicKey, succession: successionOf(keys) }
      return opened
    },
    view: () => viewOf(keys),
    trouble: () => troubleOf(service),
    async rotate({ from, breakSuccession }, by) {
      const fresh = newKey(deps)
      const stored = await store.write('service-key.rotate', async (queries) => {
        const today = todayOf(await listServiceKeys(queries))
        if (from !== null && fingerprintOf(today.publicKey) !== from) {
          throw new ConflictError('service_key_changed', 'The key of the service is another one by now; look again')
        }
        const signature = breakSuccession
          ? null
          : succeed('service', privatePemOf(today, box), fresh.publicKey).signature
        await retireServiceKey(queries, today.id, signature)
        await insertServiceKey(queries, fresh)
        return forgetOld(queries)
      })
      take(stored)
      bus.publish({ topic: 'service-key' })
      log.info({ ...shown(stored), by, signed_by_the_old_key: !breakSuccession }, 'the key of the service was rotated')
      return viewOf(stored)
    },
    refresh,
    async close() {
      stop()
      await looking
    },
  }

  log.info(shown(keys), 'this control plane proves itself to runners by its key')
  const trouble = service.trouble()
  if (trouble !== null) log.error({}, trouble)
  return service
}

/** A new key, as it is stored. */
function newKey({ box, clock }: ServiceKeyDependencies) {
  const privatePem = createSigningKey()
  const publicKey = publicKeyOf(privatePem)
  return { publicKey, privateKey: box.seal(privatePem, ownerOfServiceKey(publicKey)), createdAt: clock.now() }
}

/** @throws UnavailableError when the stored key cannot be opened */
function privatePemOf(key: StoredServiceKey, box: SecretBox): string {
  if (key.privateKey === null) throw new Error(`the service key ${key.id} was replaced`)
  try {
    return box.open(key.privateKey, ownerOfServiceKey(key.publicKey))
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error
    throw new UnavailableError('service_key_closed', 'The key of the service cannot be opened', undefined, {
      cause: error,
    })
  }
}

/** Calls the function regularly, and whenever another node announces that it has replaced the key. */
function whenOthersMayHaveChanged({ timers, bus }: ServiceKeyDependencies, look: () => void): () => void {
  const stopLooking = timers.every(LOOK_MS, look)
  const stopListening = bus.subscribe({
    received(message) {
      if (message.topic === 'service-key') look()
    },
    missed: look,
  })
  return () => {
    stopLooking()
    stopListening()
  }
}

function troubleOf(service: ServiceIdentitySource): string | null {
  try {
    service.current()
    return null
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    return (
      'the key of the service cannot be decrypted, so no runner can connect: bring back the ENCRYPTION_SECRET that it was ' +
      'stored with, or make a new key with `holdfast service rotate-key --break-succession` and tell each runner to trust it'
    )
  }
}

function todayOf(keys: readonly StoredServiceKey[]): StoredServiceKey {
  const today = keys[0]
  if (!today) throw new Error('the database has no service key')
  return today
}

/** The earlier keys in the order that runners need: the oldest first, without a gap up to the current key. */
function successionOf(keys: readonly StoredServiceKey[]): Succession {
  const links = []
  for (const { publicKey, signature } of keys.slice(1, 1 + MAX_SUCCESSIONS)) {
    if (signature === null) break
    links.unshift({ key: publicKey, signature })
  }
  return links
}

/** Removes old keys that no runner needs to follow any more. */
async function forgetOld(queries: Queries): Promise<StoredServiceKey[]> {
  const keys = await listServiceKeys(queries)
  const kept = 1 + successionOf(keys).length
  await deleteServiceKeys(
    queries,
    keys.slice(kept).map((key) => key.id),
  )
  return keys.slice(0, kept)
}

function viewOf(keys: readonly StoredServiceKey[]): ServiceKeyView {
  const { publicKey, createdAt } = todayOf(keys)
  const previous = successionOf(keys).map(({ key }) => fingerprintOf(key))
  return { fingerprint: fingerprintOf(publicKey), createdAt, previous: previous.toReversed() }
}

function shown(keys: readonly StoredServiceKey[]) {
  return { fingerprint: viewOf(keys).fingerprint }
}
