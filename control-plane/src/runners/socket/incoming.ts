import { ProtocolError, type StreamFrame, decodeFrame, parseAgentMessage } from '@holdfast/protocol'
import type { Incoming } from './agent-socket.js'
import type { JobMessage } from './connection.js'
import type { StatusMessage } from './reported.js'

/** The messages that may come after the handshake. */
export type Arrived =
  | { readonly kind: 'status'; readonly message: StatusMessage }
  | { readonly kind: 'message'; readonly message: JobMessage }
  | { readonly kind: 'frame'; readonly frame: StreamFrame }

/** Parses what came over an accepted connection. @throws ProtocolError `bad_message`, `bad_frame`, `too_large` */
export function readIncoming(incoming: Incoming): Arrived {
  if (typeof incoming !== 'string') {
    const frame = decodeFrame(incoming)
    if (frame.kind !== 'stream') throw new ProtocolError('bad_frame', 'a runner sends no blobs')
    return { kind: 'frame', frame }
  }
  const message = parseAgentMessage(incoming)
  if (message.type === 'hello' || message.type === 'greeting') {
    throw new ProtocolError('bad_message', `a second ${message.type}`)
  }
  return message.type === 'status' ? { kind: 'status', message } : { kind: 'message', message }
}
