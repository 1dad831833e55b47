import { networkOf } from '../../auth/sessions/network.js'
import type { AgentConnection } from './agent-connection.js'
import { type Rate, TokenBucket } from './token-bucket.js'

/**
 * Most requests of unknown agents that are handled at the same time. So the load on the database is bounded, however
 * many come.
 */
const MAX_AT_ONCE = 2

/**
 * How many addresses are remembered, with the number of their requests, and how many are kept when there are too many.
 */
const MAX_ADDRESSES = 10_000
const ADDRESSES_LEFT = 9_000

/** Limits the requests of unknown agents. */
export type Strangers = ReturnType<typeof createStrangers>

/**
 * Agents that say hello, and have neither an approved key nor a valid join token.
 * @param now by a clock that never jumps
 */
export function createStrangers(rateOfAddress: Rate, now: () => number) {
  const buckets = new Map<string, TokenBucket>()
  /** The connections that wait for a turn, in order. Each function is called with whether the turn has come. */
  const waiting = new Map<AgentConnection, (isTurn: boolean) => void>()
  let deciding = 0

  /** Forgets addresses that sent nothing for a while. If there are still too many, it forgets the oldest ones. */
  function forgetSome(): void {
    for (const [address, bucket] of buckets) if (bucket.isFull) buckets.delete(address)
    for (const address of buckets.keys()) {
      if (buckets.size <= ADDRESSES_LEFT) return
      buckets.delete(address)
    }
  }

  function turnOf(connection: AgentConnection): Promise<boolean> {
    if (deciding >= MAX_AT_ONCE) return new Promise((resolve) => waiting.set(connection, resolve))
    deciding += 1
    return Promise.resolve(true)
  }

  /** Gives the turn to the next one directly, so that nobody comes in between. */
  function turnIsOver(): void {
    const [next] = waiting
    if (!next) {
      deciding -= 1
      return
    }
    const [connection, take] = next
    waiting.delete(connection)
    take(true)
  }

  return {
    /** Counts a hello of an unknown agent. False: too many come from its address. */
    mayAsk({ address }: AgentConnection): boolean {
      const network = networkOf(address)
      let bucket = buckets.get(network)
      if (!bucket) {
        if (buckets.size >= MAX_ADDRESSES) forgetSome()
        bucket = new TokenBucket(rateOfAddress, now)
        buckets.set(network, bucket)
      }
      return bucket.take() === 0
    },
    /**
     * Waits for the turn of an unknown agent's request, and then runs the decision about it. Does nothing when the
     * connection ends before.
     */
    async inTurn(connection: AgentConnection, decide: () => Promise<void>): Promise<void> {
      if (!(await turnOf(connection))) return
      try {
        if (!connection.socket.ended) await decide()
      } finally {
        turnIsOver()
      }
    },
    /** A connection has ended, so it does not wait any more. */
    ended(connection: AgentConnection): void {
      waiting.get(connection)?.(false)
      waiting.delete(connection)
    },
  }
}
