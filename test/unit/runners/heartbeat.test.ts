import { expect, test } from 'vitest'
import type { AgentSocket } from '../../../control-plane/src/runners/socket/agent-socket.js'
import { createHeartbeat } from '../../../control-plane/src/runners/socket/heartbeat.js'
import { waitFor } from '../../support/wait.js'

/** A socket of a runner that has been silent for as many checks as the test says. */
function heldSocket(silentChecks: (check: number) => number) {
  const seen = { checks: 0, pings: 0 }
  const socket = {
    checkSilence() {
      seen.checks += 1
      return silentChecks(seen.checks)
    },
    ping: () => void (seen.pings += 1),
  }
  return { seen, socket: socket as unknown as AgentSocket }
}

test('every socket is pinged once in a heartbeat, which is four checks', async () => {
  const [one, two] = [heldSocket(() => 0), heldSocket(() => 8)]
  const lost: AgentSocket[] = []
  const heartbeat = createHeartbeat(
    8,
    () => [one.socket, two.socket],
    (socket) => void lost.push(socket),
  )
  await waitFor('five heartbeats', () => one.seen.checks >= 20)
  heartbeat.close()
  const { checks } = one.seen
  for (const { seen } of [one, two]) expect(seen).toEqual({ checks, pings: Math.floor(checks / 4) })
  expect(lost).toEqual([])
})

test('a socket is lost after two heartbeats without a word, and is not pinged any more', async () => {
  const { seen, socket } = heldSocket((check) => check)
  const sockets = new Set([socket])
  const lost: number[] = []
  const heartbeat = createHeartbeat(
    8,
    () => sockets,
    (one) => {
      lost.push(seen.checks)
      sockets.delete(one)
    },
  )
  await waitFor('the loss', () => lost.length > 0)
  heartbeat.close()
  expect([lost, seen]).toEqual([[9], { checks: 9, pings: 2 }])
})
