import type { Logger } from 'pino'
import type { AdmissionStage } from '../../socket/admission.js'
import type { AgentConnection } from '../../socket/agent-connection.js'

/** Shortest time between two log lines about too many unknown agents, in milliseconds. */
const TELL_MS = 10_000

/** Logs that there are too many unknown agents. It logs this rarely, because strangers decide how many they are. */
export function createTurnedAway(log: Logger) {
  let count = 0
  let telling: NodeJS.Timeout | null = null
  return {
    /** Closes a connection for which there is no place, and counts it. */
    turnAway(connection: AgentConnection, stage: AdmissionStage): void {
      connection.close('too_many_waiting', 'too many connections are in their handshake')
      count += 1
      if (telling) return
      log.warn(
        { ip: connection.address, stage },
        'connections of strangers have to go: too many are in their handshake',
      )
      telling = setTimeout(() => {
        if (count > 1) log.warn({ connections: count }, 'so many connections of strangers had to go')
        count = 0
        telling = null
      }, TELL_MS)
      telling.unref()
    },
    close(): void {
      if (telling) clearTimeout(telling)
    },
  }
}
