import { promote, startPrimary, startStandby, waitForStandby } from '../../support/postgres-standby.js'
import type { PostgresServer } from '../../support/postgres.js'
import { type FaultyProxy, startFaultyProxy } from '../kit/faulty-proxy.js'

/** A database server and its asynchronous standby, at one address for the product. */
export interface ServerPair {
  /** What the product connects to, whichever server serves. */
  readonly server: PostgresServer
  /** A new standby follows the server that serves. Resolves when it has everything. */
  follow(): Promise<void>
  /** From now on the standby gets nothing. */
  fallBehind(): void
  /** The server is killed, and its standby takes over. */
  failOver(): Promise<void>
  close(): Promise<void>
}

/** Starts a server without a standby. */
export async function startPair(): Promise<ServerPair> {
  let primary = await startPrimary()
  let standby: PostgresServer | null = null
  let link: FaultyProxy | null = null
  const front = await startFaultyProxy(addressOf(primary))
  const frontPort = new URL(front.address).port
  return {
    server: { ...primary, urlOf: (database) => primary.urlOf(database).replace(`:${primary.port}/`, `:${frontPort}/`) },
    async follow() {
      link = await startFaultyProxy(addressOf(primary))
      standby = await startStandby(primary, Number(new URL(link.address).port))
      await waitForStandby(primary, standby)
    },
    fallBehind() {
      // What is under way is held as well, and is gone with the connection.
      for (const direction of ['up', 'down'] as const) link?.flow(direction, { kind: 'swallowed' })
    },
    async failOver() {
      if (standby === null) throw new Error('there is no standby')
      front.hold(true)
      await primary.kill()
      front.cut()
      await link?.close()
      await promote(standby)
      await primary.close()
      primary = standby
      standby = null
      front.retarget(addressOf(primary))
      front.hold(false)
    },
    async close() {
      await front.close()
      await link?.close()
      await standby?.close()
      await primary.close()
    },
  }
}

function addressOf({ port }: PostgresServer): string {
  return `http://127.0.0.1:${port}`
}
