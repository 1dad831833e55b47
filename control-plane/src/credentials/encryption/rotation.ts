import { setImmediate as letOthersRun } from 'node:timers/promises'
import { createSerialQueue } from '@holdfast/host/queues'
import type { Logger } from 'pino'
import type { Clock } from '../../time/clock.js'
import { messageOf } from '../../errors.js'
import type { SecretRing } from '../../secrets/secret-ring.js'
import { SEALED_COLUMNS, type SealedColumn, type SealedRow } from '../../store/service/sealed-columns.js'
import type { Store } from '../../store/store.js'
import type { Timers } from '../../time/timers.js'
import { type SecretBox, SecretBoxError } from './secret-box.js'

/** Rows that are encrypted again in one write. */
const ROWS_AT_ONCE = 50

/** How often to check whether something is still encrypted with an earlier secret, in milliseconds. */
const LOOK_MS = 60_000

/**
 * How long the earlier secret is kept after a rotation, in milliseconds. A request may have encrypted with it before
 * the rotation, and may store the result after it.
 */
const SETTLE_MS = 10 * 60_000

/** The result of one pass over all encrypted values. */
export interface Reencryption {
  /** Number of values that are encrypted with the current secret now. */
  readonly reencrypted: number
  /** Number of values that no known secret decrypts. They stay as they are. */
  readonly unreadable: number
}

/**
 * Replaces the two secrets of the service while it runs.
 *
 * - Encryption: a new secret is used from now on, and everything is encrypted again with it. The earlier secret is
 *   removed when nothing needs it any more. A pass that was interrupted goes on, also after a restart, because earlier
 *   secrets are kept until a pass finds nothing to do.
 * - Access tokens: a new secret signs from now on. Tokens that the earlier one signed are valid until they expire.
 */
export interface SecretRotation {
  rotateEncryption(): Promise<Reencryption>
  /** @throws ConflictError when the secret is a setting */
  rotateAccessTokens(): Promise<void>
  close(): Promise<void>
}

/** What the rotation of secrets needs of other parts. */
export interface SecretRotationDependencies {
  readonly store: Store
  readonly clock: Clock
  /** A clock that does not jump. An earlier secret that is forgotten does not come back. */
  readonly steady: Clock
  readonly timers: Timers
  readonly log: Logger
  readonly box: SecretBox
  readonly encryption: SecretRing
  readonly accessTokens: SecretRing
  /** How long an earlier signature is valid at most, in milliseconds. */
  readonly refreshTokenMs: number
}

/** Makes the {@link SecretRotation} of this control plane. */
export function createSecretRotation(deps: SecretRotationDependencies): SecretRotation {
  const { clock, steady, log, encryption } = deps
  let rotatedAt = steady.now()
  /** One pass after the other: two at once would do everything twice. */
  const passes = createSerialQueue()

  async function pass(): Promise<Reencryption> {
    const total = { reencrypted: 0, unreadable: 0 }
    for (const column of SEALED_COLUMNS) {
      const { reencrypted, unreadable } = await passOver(deps, column)
      total.reencrypted += reencrypted
      total.unreadable += unreadable
      if (unreadable > 0) log.warn({ what: column.name, unreadable }, 'no known ENCRYPTION_SECRET opens these')
    }
    return total
  }

  async function goOn(): Promise<void> {
    if (!encryption.isKept || !encryption.hasPrevious()) return
    const { reencrypted } = await pass()
    if (reencrypted > 0) rotatedAt = steady.now()
    else if (steady.now() - rotatedAt >= SETTLE_MS) {
      await encryption.forgetPrevious()
      log.info('nothing needs the encryption secret from before the rotation any more; it is forgotten')
    }
  }

  const stop = deps.timers.every(LOOK_MS, () => {
    passes.add(goOn).catch((error: unknown) => {
      log.warn({ reason: messageOf(error) }, 'stored secrets could not be encrypted anew; tried again soon')
    })
  })

  return {
    rotateEncryption: () =>
      passes.add(async () => {
        // An interrupted rotation is completed first, without a further secret.
        if (encryption.isKept && !encryption.hasPrevious()) {
          await encryption.rotate(null)
          rotatedAt = steady.now()
        }
        return pass()
      }),
    rotateAccessTokens: () => passes.add(() => deps.accessTokens.rotate(clock.now() + deps.refreshTokenMs)),
    async close() {
      stop()
      await passes.idle()
    },
  }
}

/** Encrypts again all values of one column that are still encrypted with an earlier secret. */
async function passOver({ store, box }: SecretRotationDependencies, column: SealedColumn): Promise<Reencryption> {
  let [reencrypted, unreadable, after] = [0, 0, 0]
  for (;;) {
    const rows = await column.read(store.read, after, ROWS_AT_ONCE)
    const stale: { row: SealedRow; sealed: Buffer }[] = []
    for (const row of rows) {
      after = row.key
      // Each value may be megabytes long.
      await letOthersRun()
      try {
        const sealed = box.sealAnew(row.sealed, row.owner)
        if (sealed) stale.push({ row, sealed })
      } catch (error) {
        if (!(error instanceof SecretBoxError)) throw error
        unreadable += 1
      }
    }
    if (stale.length > 0) {
      reencrypted += await store.write('secrets.reencrypt', async (queries) => {
        let replaced = 0
        for (const { row, sealed } of stale) if (await column.replace(queries, row, sealed)) replaced += 1
        return replaced
      })
    }
    if (rows.length < ROWS_AT_ONCE) return { reencrypted, unreadable }
  }
}
