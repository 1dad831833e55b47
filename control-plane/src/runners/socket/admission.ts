import { networkOf } from '../../auth/network.js'
import type { AgentConnection } from './agent-connection.js'
import { FairPool } from './fair-pool.js'

/** Where a connection is that has not shown that it is awaited. */
export type AdmissionStage = 'greeting' | 'checking' | 'queued'

export interface AdmissionLimits {
  /** Connections in one stage. */
  readonly mostUnproven: number
  /** The same of one network address (IPv6: of one /64). */
  readonly mostUnprovenOfAddress: number
  /** Of those, how many an address from which an approved runner came may have before it counts as crowded. */
  readonly reserveOfKnownAddress: number
}

export interface Admission {
  /** Puts a connection into a stage, from whichever it was in. Another one may have to go for it. */
  enter(connection: AgentConnection, stage: AdmissionStage): void
  /** The connection is awaited, decided or gone. */
  leave(connection: AgentConnection): void
  /** Connections in all stages. */
  readonly size: number
}

/**
 * Keeps a bounded number of connections that have proven nothing yet:
 *
 *   greeting   the challenge is sent, the hello is awaited                 → checking, left
 *   checking   the hello is good; the database is asked who that is       → queued (a stranger), left (awaited)
 *   queued     a stranger, whose request waits for its turn to be stored  → left
 *
 * Each stage is a pool of its own, shared fairly between addresses, and nobody is refused at the door: the newest always
 * gets in and somebody else goes. So whoever answers at once gets through as long as it is not the case that, between
 * its arrival and its answer, as many other addresses come as the pool has places. What fills the last stage keeps
 * nobody out of the first.
 * @param isKnown whether an approved runner came from that address
 * @param evict closes a connection that had to go
 */
export function createAdmission(
  limits: AdmissionLimits,
  isKnown: (address: string) => boolean,
  evict: (connection: AgentConnection, stage: AdmissionStage) => void,
): Admission {
  const makePool = () =>
    new FairPool<AgentConnection>({
      most: limits.mostUnproven,
      mostOfGroup: limits.mostUnprovenOfAddress,
      reserveOf: (address) => (isKnown(address) ? limits.reserveOfKnownAddress : 0),
    })
  const pools: Record<AdmissionStage, FairPool<AgentConnection>> = {
    greeting: makePool(),
    checking: makePool(),
    queued: makePool(),
  }
  const all = Object.values(pools)

  const leave = (connection: AgentConnection) => {
    for (const pool of all) pool.delete(connection)
  }
  return {
    enter(connection, stage) {
      leave(connection)
      const evicted = pools[stage].add(connection, networkOf(connection.address))
      if (evicted) evict(evicted, stage)
    },
    leave,
    get size() {
      return all.reduce((sum, pool) => sum + pool.size, 0)
    },
  }
}
