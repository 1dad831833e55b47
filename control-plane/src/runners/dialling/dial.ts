import { INBOUND_SOCKET_PATH, MAX_SOCKET_MESSAGE_BYTES, SUBPROTOCOL } from '@holdfast/protocol'
import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import { messageOf } from '../../errors.js'
import type { Ground } from '../../ground/ground.js'
import type { RunnerAddress } from '../../store/runners/runner-addresses.js'
import type { RunnerHub } from '../registration/hub/hub.js'

/** How long the agent may take to answer, in milliseconds. */
const ANSWER_MS = 10_000

/**
 * The limits of the wait between two tries, in milliseconds. The wait doubles after each try. A random part of it is
 * used.
 */
const SHORTEST_WAIT_MS = 500
const MAX_WAIT_MS = 30_000

/** After a connection of this length, in milliseconds, the waits are short again. */
const PROVEN_MS = 1000

/** Keeps the agent connected that listens at an address, until this dial is closed. */
export type Dial = ReturnType<typeof createDial>

/** What a dial needs of other parts. */
export interface DialDependencies extends Pick<Ground, 'steady' | 'timers' | 'random'> {
  /** Takes a socket that was opened. From then on the hub owns it. */
  readonly accept: RunnerHub['accept']
  /** Called when a try has failed, with the reason in one sentence, and with null when one has succeeded. */
  readonly noted: (problem: string | null) => void
}

/**
 * Dials at once, and again whenever the connection is lost. The hub finds out which runner answers, and decides whether
 * it is accepted.
 */
export function createDial(deps: DialDependencies, address: RunnerAddress) {
  const { steady, timers, random, noted } = deps
  let socket: WebSocket | null = null
  let cancelWait = (): void => undefined
  let attempt = 0
  let isClosed = false

  const dial = (): void => {
    let openedAt: number | null = null
    let network: Socket | null = null
    let problem: string | null = null
    const dialling = new WebSocket(address.address.replace(/^http/, 'ws') + INBOUND_SOCKET_PATH, SUBPROTOCOL, {
      perMessageDeflate: false,
      maxPayload: MAX_SOCKET_MESSAGE_BYTES,
      handshakeTimeout: ANSWER_MS,
      followRedirects: false,
    })
    socket = dialling
    dialling.once('upgrade', (response) => {
      network = response.socket
    })
    dialling.once('open', () => {
      if (network === null) return
      openedAt = steady.now()
      noted(null)
      const { id: addressId, name, fingerprint } = address
      deps.accept(dialling, network.remoteAddress ?? '', network, { addressId, name, fingerprint })
    })
    dialling.on('error', (error) => {
      problem = messageOf(error)
    })
    dialling.once('close', (_code, reason) => {
      socket = null
      if (isClosed) return
      const said = problem ?? reason.toString('utf8')
      const isProven = openedAt !== null && steady.now() - openedAt >= PROVEN_MS
      if (isProven) attempt = 0
      else noted(said === '' ? 'the connection was lost' : said)
      const span = Math.min(MAX_WAIT_MS, SHORTEST_WAIT_MS * 2 ** attempt)
      attempt += 1
      cancelWait = timers.after(Math.round((span * random(2).readUInt16BE(0)) / 0xffff), dial)
    })
  }
  dial()

  return {
    /** Stops dialling, and cuts the present connection. */
    close(): void {
      isClosed = true
      cancelWait()
      socket?.terminate()
    },
  }
}
