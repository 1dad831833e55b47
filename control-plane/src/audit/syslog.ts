import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type Socket, connect, isIPv6 } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { AuditTarget } from './export.js'

/** Facility "log audit" (13), severity "informational" (6). */
const PRIORITY = 13 * 8 + 6
const SEND_TIMEOUT_MS = 10_000
/** How long the receiver may take to end the connection after everything was sent, in milliseconds. */
const FAREWELL_MS = 5000

/** The protocols that a syslog receiver may have. */
export const SYSLOG_PROTOCOLS = ['udp', 'tcp', 'tls'] as const

/** A syslog receiver, as its setting names it. */
export interface SyslogPlace {
  readonly protocol: (typeof SYSLOG_PROTOCOLS)[number]
  readonly host: string
  readonly port: number
}

/** The sender in the header of each message. */
export interface SyslogSender {
  readonly hostname: string
  readonly processId: number
  readonly now: () => string
}

/**
 * A syslog receiver (RFC 5424). Over UDP, nobody learns whether a message arrived. Over TCP and TLS (RFC 6587 and 5425,
 * framed by length) each batch has a connection of its own. A batch counts as sent when the receiver has ended the
 * connection without an error, which it does when it has read everything. It also counts as sent when the receiver
 * leaves the connection open.
 */
export function createSyslog(place: SyslogPlace, sender: SyslogSender): AuditTarget {
  const message = (line: string) => {
    const host = sender.hostname.replace(/[^\x21-\x7e]/g, '').slice(0, 255) || '-'
    return Buffer.from(`<${PRIORITY}>1 ${sender.now()} ${host} holdfast ${sender.processId} audit - ${line}`)
  }
  return {
    name: 'syslog',
    async send(lines) {
      const messages = lines.map(message)
      if (place.protocol === 'udp') await sendDatagrams(place, messages)
      else await sendStream(place, messages)
    },
  }
}

async function sendDatagrams({ host, port }: SyslogPlace, messages: readonly Buffer[]): Promise<void> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  try {
    for (const message of messages) {
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject)
        socket.send(message, port, host, (error) => (error ? reject(error) : resolve()))
      })
      socket.removeAllListeners('error')
    }
  } finally {
    socket.close()
  }
}

async function sendStream({ protocol, host, port }: SyslogPlace, messages: readonly Buffer[]): Promise<void> {
  const ending = new AbortController()
  const isTls = protocol === 'tls'
  const socket: Socket = isTls
    ? connectTls({ host, port, ...(isIPv6(host) ? {} : { servername: host }) })
    : connect({ host, port })
  // `once` rejects with the error of the socket. An error between two waits must not end the process.
  socket.on('error', () => undefined)
  socket.resume()
  const inTime = <T>(work: Promise<T>) =>
    Promise.race([
      work,
      pause(SEND_TIMEOUT_MS, null, { signal: ending.signal, ref: false }).then(() => {
        throw new Error(`the syslog receiver did not answer within ${SEND_TIMEOUT_MS / 1000} seconds`)
      }),
    ])
  try {
    await inTime(once(socket, isTls ? 'secureConnect' : 'connect'))
    const closed = once(socket, 'close').then(() => {
      if (socket.errored) throw socket.errored
    })
    closed.catch(() => undefined)
    const frames = messages.map((message) => Buffer.concat([Buffer.from(`${message.length} `), message]))
    await inTime(
      new Promise<void>((resolve, reject) => {
        socket.once('error', reject)
        socket.end(Buffer.concat(frames), () => resolve())
      }),
    )
    await Promise.race([closed, pause(FAREWELL_MS, null, { signal: ending.signal, ref: false })])
  } finally {
    ending.abort()
    socket.destroy()
  }
}
