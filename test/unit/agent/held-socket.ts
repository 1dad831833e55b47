import { EventEmitter } from 'node:events'
import type { AgentMessage, SealedChannel, ServerMessage } from '@holdfast/protocol'
import { WebSocket } from 'ws'
import { type ConnectionEnd, followConnection } from '../../../runner-agent/src/link/connection.js'
import type { AgentHandshake } from '../../../runner-agent/src/link/handshake.js'

/** A socket without a network. It keeps what is done with it, and the test says what comes. */
class HeldSocket extends EventEmitter {
  readyState: number = WebSocket.OPEN
  bufferedAmount = 7
  readonly done: string[] = []

  send(data: string | Buffer, flushed?: () => void): void {
    this.done.push(`send ${data.toString()}`)
    flushed?.()
  }

  ping(): void {
    this.done.push('ping')
  }

  close(code: number, text: string): void {
    this.done.push(`close ${code} ${text}`)
  }

  terminate(): void {
    this.done.push('terminate')
    this.end(1006)
  }

  end(code: number, text = ''): void {
    this.readyState = WebSocket.CLOSED
    this.emit('close', code, Buffer.from(text))
  }
}

/** Seals nothing: it marks what it took, and opens what has that mark. */
const channel: SealedChannel = {
  seal: (message) => Buffer.from(typeof message === 'string' ? `sealed ${message}` : `frame of ${message.length}`),
  open(sealed) {
    const text = sealed.toString('utf8')
    if (text.startsWith('sealed ')) return text.slice('sealed '.length)
    return sealed.subarray('frame '.length)
  },
}

/** A handshake that believes everybody. @param tls takes the layer below each proof */
export function markingHandshake(tls: unknown[] = []): AgentHandshake {
  return {
    greet: (challenge) => `greeting for ${challenge}`,
    prove(proof, layer) {
      tls.push(layer)
      const hello = { type: 'hello', payload: proof.payload, signature: 's' } as AgentMessage
      return { hello, channel }
    },
  }
}

/** A connection over such a socket, and all that it tells. */
export function heldConnection(network: { bytesRead: number } | null = { bytesRead: 0 }) {
  const socket = new HeldSocket()
  const told: string[] = []
  const tls: unknown[] = []
  const trouble = { in: null as unknown }
  const connection = followConnection(socket as unknown as WebSocket, network as never, markingHandshake(tls), {
    welcome: ({ epoch }, current) => void told.push(`welcome ${epoch} ${current.open}`),
    message: ({ type }) => {
      told.push(`message ${type}`)
      if (trouble.in !== null) throw trouble.in
    },
    blob: ({ payload }) => void told.push(`blob ${payload.toString()}`),
    heartbeat: (current) => {
      told.push('heartbeat')
      current.ping()
    },
  })
  const ends: ConnectionEnd[] = []
  void connection.ended.then((end) => void ends.push(end))
  const takeText = (text: string): void => void socket.emit('message', Buffer.from(text), false)
  const take = (message: ServerMessage): void => takeText(JSON.stringify(message))
  const takeSealed = (message: ServerMessage): void =>
    void socket.emit('message', Buffer.from(`sealed ${JSON.stringify(message)}`), true)
  const takeFrame = (frame: Buffer): void =>
    void socket.emit('message', Buffer.concat([Buffer.from('frame '), frame]), true)
  const greet = (): void => {
    takeText('challenge')
  }
  const prove = (): void => {
    greet()
    take({ type: 'proof', payload: 'p', signature: 's' })
  }
  const welcome = (heartbeat_ms = 1000): void => {
    prove()
    takeSealed({ type: 'welcome', state: 'approved', epoch: 5, max_jobs: null, heartbeat_ms, speaks: 1 })
  }
  return { socket, connection, told, tls, ends, trouble, takeText, take, takeSealed, takeFrame, greet, prove, welcome }
}
