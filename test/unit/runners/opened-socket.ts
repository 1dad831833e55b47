import { EventEmitter } from 'node:events'
import type { WebSocket } from 'ws'
import { AgentSocket } from '../../../control-plane/src/runners/socket/agent-socket.js'

/** What the product does with the library's socket, noted in order. */
export class FakeSocket extends EventEmitter {
  readonly done: string[] = []
  readonly sent: { readonly data: string | Buffer; readonly binary: boolean }[] = []
  lastPing: Buffer = Buffer.alloc(0)
  bufferedAmount = 0
  /** What the library says about the next sending. */
  sendError: Error | undefined
  pause = () => this.done.push('pause')
  resume = () => this.done.push('resume')
  pong = () => this.done.push('pong')
  terminate = () => this.done.push('terminate')
  close = (code: number) => this.done.push(`close ${code}`)
  ping = (mark?: Buffer) => {
    this.done.push(...(mark ? [] : ['ping']))
    this.lastPing = mark ?? this.lastPing
  }
  send(data: string | Buffer, ...rest: [unknown] | [{ binary: boolean }, (error?: Error) => void]): void {
    const [options, called] = rest
    this.sent.push({ data, binary: called !== undefined && (options as { binary: boolean }).binary })
    called?.(this.sendError)
  }
}

/** A socket whose clock only the test moves. */
export function opened(heartbeatMs = 60_000) {
  const fake = new FakeSocket()
  const network = Object.assign(new EventEmitter(), { bytesRead: 0 })
  const heard: (string | number)[] = []
  const messages: (string | Buffer)[] = []
  const listener = {
    message: (message: string | Buffer) => {
      messages.push(message)
      heard.push(message.length)
    },
    ended: () => heard.push('ended'),
    gone: () => heard.push('gone'),
  }
  const time = { ms: 0 }
  // The methods of the library that this class uses are those above.
  const socket = new AgentSocket(fake as unknown as WebSocket, network, listener, heartbeatMs, () => time.ms)
  const send = (text: string, times = 1) => {
    for (let count = 0; count < times; count += 1) fake.emit('message', Buffer.from(text), false)
  }
  const sendFrames = (times: number) => {
    for (let count = 0; count < times; count += 1) fake.emit('message', Buffer.alloc(1), true)
  }
  return { fake, network, heard, messages, socket, time, send, sendFrames }
}
