import { TooManyError, UnavailableError } from '../../errors.js'

/** The bytes of one request in memory. Its owner closes it when the request is answered. */
export interface BodyShare {
  /**
   * @throws TooManyError when the sender has too many bytes in work, UnavailableError when all senders together have
   */
  take(bytes: number): void
  close(): void
}

/** Seconds after which a refused sender may try again. */
const RETRY_SECONDS = 2

/**
 * Limits the memory for bodies, by sender and in all. A body counts from its first byte until its request is answered,
 * because a launch that waits for its check keeps its whole body.
 */
export function createBodyShares({ ofOne, ofAll }: { readonly ofOne: number; readonly ofAll: number }) {
  const held = new Map<string, number>()
  let all = 0
  return {
    /** @param sender a user, or the network of a client without a token */
    open(sender: string): BodyShare {
      let own = 0
      return {
        take(bytes) {
          const ofSender = held.get(sender) ?? 0
          if (ofSender + bytes > ofOne) {
            throw new TooManyError(
              'too_much_in_work',
              'Too many of your requests are in work; try again',
              RETRY_SECONDS,
            )
          }
          if (all + bytes > ofAll) {
            throw new UnavailableError('bodies_full', 'Too many requests are in work; try again later')
          }
          own += bytes
          all += bytes
          held.set(sender, ofSender + bytes)
        },
        close() {
          all -= own
          const left = (held.get(sender) ?? 0) - own
          own = 0
          if (left > 0) held.set(sender, left)
          else held.delete(sender)
        },
      }
    },
  }
}
