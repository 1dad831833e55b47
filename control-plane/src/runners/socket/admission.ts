import { networkOf } from '../../auth/sessions/network.js'
import type { AgentConnection } from './agent-connection.js'
import { FairPool } from './fair-pool.js'

/** The stage of a connection that has not shown yet that it is expected. */
export type AdmissionStage = 'greeting' | 'checking' | 'queued'

/** The limits of connections that have proven nothing yet. */
export interface AdmissionLimits {
  /** Most connections in one stage. */
  readonly mostUnproven: number
  /** Most connections in one stage from one network address (IPv6: from one /64). */
  readonly mostUnprovenOfAddress: number
  /** How many of these an address from which an approved runner came may have before it counts as crowded. */
  readonly reserveOfKnownAddress: number
}

/** See {@link createAdmission}. */
export type Admission = ReturnType<typeof createAdmission>

/**
 * Limits the number of connections that have proven nothing yet. The stages:
 *
 * - greeting: the challenge is sent and the hello has not come. Next: checking, or left.
 * - checking: the hello is right, and the database is asked who the agent is. Next: queued for an unknown agent, left
 *   for an expected one.
 * - queued: an unknown agent whose request waits to be stored. Next: left.
 *
 * Each stage has its own pool of places, which addresses share fairly. No new connection is refused: it always gets a
 * place, and another one is closed. So an agent that answers at once gets through. The only exception: before its
 * answer, connections of as many other addresses arrive as the pool has places. A full last stage closes no connection
 * of the first stage.
 * @param isKnown whether an approved runner came from that address
 * @param evict closes a connection that has to go
 */
export function createAdmission(
  limits: AdmissionLimits,
  isKnown: (address: string) => boolean,
  evict: (connection: AgentConnection, stage: AdmissionStage) => void,
) {
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

  /** The connection is expected, decided about, or gone. */
  const leave = (connection: AgentConnection) => {
    for (const pool of all) pool.delete(connection)
  }
  return {
    /**
     * Puts a connection into a stage and takes it out of its earlier one. Another connection may be closed to make
     * room.
     */
    enter(connection: AgentConnection, stage: AdmissionStage): void {
      leave(connection)
      const evicted = pools[stage].add(connection, networkOf(connection.address))
      if (evicted) evict(evicted, stage)
    },
    leave,
    /** Number of connections in all stages. */
    get size(): number {
      return all.reduce((sum, pool) => sum + pool.size, 0)
    },
  }
}
