import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SOCKET_PATH, SUBPROTOCOL } from '@holdfast/protocol'
import { WebSocket, WebSocketServer } from 'ws'

type Message = string | Buffer

/** What somebody between an agent and its control plane makes of one message: all that goes on in its place. */
export type Meddle = (message: Message, from: 'agent' | 'control plane', count: number) => readonly Message[]

/** Somebody between an agent and its control plane who relays the messages of the socket. */
export interface Relay {
  readonly url: string
  /** What the control plane and the agent said, as it crossed. */
  readonly crossed: { readonly from: 'agent' | 'control plane'; readonly message: Message }[]
  meddle: Meddle | null
  close(): Promise<void>
}

/** @param target the control plane, http:// */
export async function startRelay(target: string): Promise<Relay> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: SOCKET_PATH, perMessageDeflate: false })
  await once(server, 'listening')
  const relay: Relay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    crossed: [],
    meddle: null,
    async close() {
      for (const socket of server.clients) socket.terminate()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  server.on('connection', (agent) => {
    const controlPlane = new WebSocket(`${target.replace('http', 'ws')}${SOCKET_PATH}`, SUBPROTOCOL)
    const waiting: Message[] = []
    let count = 0
    const pass = (from: 'agent' | 'control plane', message: Message): void => {
      relay.crossed.push({ from, message })
      count += 1
      const to = from === 'agent' ? controlPlane : agent
      for (const one of relay.meddle?.(message, from, count) ?? [message]) to.send(one)
    }
    const textOr = (bytes: Buffer, isBinary: boolean): Message => (isBinary ? bytes : bytes.toString('utf8'))
    agent.on('message', (bytes: Buffer, isBinary) => {
      const message = textOr(bytes, isBinary)
      if (controlPlane.readyState === WebSocket.OPEN) pass('agent', message)
      else waiting.push(message)
    })
    controlPlane.on('open', () => waiting.splice(0).forEach((message) => pass('agent', message)))
    controlPlane.on('message', (bytes: Buffer, isBinary) => pass('control plane', textOr(bytes, isBinary)))
    for (const [one, other] of [
      [agent, controlPlane],
      [controlPlane, agent],
    ] as const) {
      one.on('error', () => undefined)
      one.on('close', () => other.terminate())
    }
  })
  return relay
}
