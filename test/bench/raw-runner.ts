import { hostname } from 'node:os'
import { randomBytes } from 'node:crypto'
import {
  CONTRACT,
  type JobOrder,
  SOCKET_PATH,
  SUBPROTOCOL,
  type ServerMessage,
  createIdentityKeys,
  parseServerMessage,
  publicKeyOf,
  signHello,
} from '@holdfast/protocol'
import WebSocket from 'ws'

/** A runner without ansible: joins with a token and leaves what comes after the handshake to its user. */
export interface RawRunner {
  readonly socket: WebSocket
  readonly epoch: number
  send(message: object): void
}

/** Connects, proves a fresh identity and resolves when the control plane approved it. */
export function connectRawRunner(
  address: string,
  name: string,
  joinToken: string,
  onMessage: (message: ServerMessage, runner: RawRunner) => void,
): Promise<RawRunner> {
  const keys = createIdentityKeys()
  const socket = new WebSocket(address.replace(/^http/, 'ws') + SOCKET_PATH, SUBPROTOCOL, { perMessageDeflate: false })
  return new Promise((resolve, reject) => {
    let runner: RawRunner | null = null
    socket.on('error', reject)
    socket.on('close', (code, reason) => reject(new Error(`closed: ${code} ${reason.toString()}`)))
    socket.on('message', (data, isBinary) => {
      if (isBinary) return
      const message = parseServerMessage(String(data))
      if (message.type === 'challenge') {
        const payload = JSON.stringify({
          name,
          identity_key: publicKeyOf(keys.identityPrivatePem),
          sealing_key: publicKeyOf(keys.sealingPrivatePem),
          generation: 1,
          instance: randomBytes(16).toString('hex'),
          contract: CONTRACT,
          version: 'bench',
          ansible_version: null,
          host: hostname(),
          max_jobs: 10,
          join_token: joinToken,
          clock: Date.now(),
        })
        socket.send(
          JSON.stringify({
            type: 'hello',
            payload,
            signature: signHello(keys.identityPrivatePem, message.nonce, payload),
          }),
        )
      } else if (message.type === 'welcome') {
        runner = { socket, epoch: message.epoch, send: (value) => socket.send(JSON.stringify(value)) }
        runner.send({ type: 'inventory', jobs: [] })
        resolve(runner)
      } else if (runner) {
        onMessage(message, runner)
      }
    })
  })
}

/** The two ids by which messages name a job. */
export function refOf(order: Pick<JobOrder, 'job_id' | 'run_id'>): { job_id: number; run_id: string } {
  return { job_id: order.job_id, run_id: order.run_id }
}
