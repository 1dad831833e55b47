import { createSerialQueue } from '@holdfast/host/queues'
import { becomeNext, forgetFormer, type Identity, loadNext } from './identity.js'
import { describeError, type Logger } from '../log.js'

/**
 * The keys of a running agent. `holdfast-runner rotate-key` puts new ones beside them; the agent shows those at its next
 * connection, with the old key's signature, and makes them its own once the control plane has taken them:
 *
 *   identity            identity-next       what is shown
 *   old                 new                 new, signed by old. Refused or cut off: shown again
 *   new (with former)   new                 new: the agent ended before it could remove the second file
 *   new (with former)                       new. What was sealed to the old key still opens
 *   new                                     new: nothing in the spool needs the old key any more
 */
export type Keyring = ReturnType<typeof createKeyring>

/** What the keyring needs. */
export interface KeyringDependencies {
  readonly statePath: string
  readonly log: Logger
  /** True when no job is in the spool or on its way there. */
  readonly isIdle: () => boolean
}

/** A keyring that begins with the keys of the state folder. */
export function createKeyring(loaded: Identity, { statePath, log, isIdle }: KeyringDependencies) {
  let today = loaded
  let next: Identity | null = null
  let used = loaded
  const turns = createSerialQueue()

  /** One change of the files at a time. */
  const inTurn = (task: () => Promise<void>, failure: string): Promise<void> =>
    turns.add(task).catch((error: unknown) => {
      log.error({ error: describeError(error) }, failure)
    })

  const shown = (): Identity => next ?? today

  return {
    /** What is shown to the control plane at the next connection. */
    get shown(): Identity {
      return shown()
    },
    /** True when newer keys wait than those of the current connection. */
    get isNextWaiting(): boolean {
      return shown() !== used
    },
    /** Each identity whose secrets may still be in the spool, the newest first. */
    openers: () => [...(next ? [next] : []), today, ...today.former],
    /** Looks for new keys that wait, and removes former keys that nothing needs any more. Never throws. */
    prepare: () =>
      inTurn(async () => {
        next ??= await loadNext(statePath, today)
        if (next === null && today.former.length > 0 && isIdle()) {
          const before = today
          today = await forgetFormer(statePath, today)
          if (used === before) used = today
        }
      }, "the runner's new keys cannot be read; the old ones stay in use"),
    /** A connection begins: with these keys. */
    dial(): Identity {
      used = shown()
      return used
    },
    /** The control plane has taken the keys of the current connection. Never throws. */
    welcomed: () =>
      inTurn(async () => {
        if (next === null || used !== next) return
        await becomeNext(statePath, next)
        today = next
        next = null
        log.info({ fingerprint: today.fingerprint }, "the control plane has taken this runner's new keys")
      }, "the runner's new keys cannot be kept as its own; tried again at the next connection"),
  }
}
