import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import type { JobOrder, StreamName } from '@holdfast/protocol'
import { encodeFrame } from '@holdfast/protocol'
import type { Product } from '../../support/product.js'
import { type AgentIdentity, RawAgent, newIdentity } from '../../support/raw-agent.js'

/** How long a socket takes nothing before it counts as stuck. */
const STUCK_MS = 2000

/** A runner that an admin approved and that keeps to no rule. */
export interface HostileRunner {
  readonly identity: AgentIdentity
  /** A new connection, approved. */
  connect(): Promise<RawAgent>
  /** A new connection with its own job, claimed. */
  withJob(): Promise<{ readonly agent: RawAgent; readonly order: JobOrder; readonly epoch: number }>
}

/** Joins as a second runner. @param form one whose jobs go to a runner of that name */
export async function joinHostile(product: Product, name: string, form: string): Promise<HostileRunner> {
  const url = socketOf(product)
  const identity = newIdentity(name)
  const first = await RawAgent.join(url, identity)
  const { records } = await product.admin.get<{ records: { id: number; name: string }[] }>('/runner')
  await product.admin.post(`/runner/${records.find((runner) => runner.name === name)?.id}/approve`)
  await first.next('settings')
  await first.leave()
  return {
    identity,
    connect: () => RawAgent.join(url, identity),
    async withJob() {
      const agent = await RawAgent.join(url, identity)
      // An earlier connection may have ended in the middle of a lie.
      agent.status()
      agent.say({ type: 'inventory', jobs: [] })
      await agent.next('resume')
      await product.launch(form)
      const { order } = await agent.next('offer')
      agent.say({ type: 'claimed', job_id: order.job_id, run_id: order.run_id })
      return { agent, order, epoch: (await agent.next('welcome')).epoch }
    },
  }
}

export const socketOf = (product: Product): string => `${product.address.replace('http', 'ws')}/api/v2/rte/socket`

/** The network connection below a raw agent. */
export const networkOf = (agent: RawAgent): Socket => (agent.socket as unknown as { readonly _socket: Socket })._socket

/** A TCP connection to the control plane that says nothing by itself and minds no reset. */
export async function dialRaw(product: Product): Promise<Socket> {
  const { hostname, port } = new URL(product.address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** One WebSocket frame of a client as bytes, masked with zeros. */
export function maskedFrame(opcode: number, payload: Buffer, length = payload.length, final = true): Buffer {
  const head = Buffer.alloc(14)
  head[0] = (final ? 0x80 : 0) | opcode
  head[1] = 0x80 | 127
  head.writeBigUInt64BE(BigInt(length), 2)
  if (length > 125) return Buffer.concat([head, payload])
  return Buffer.concat([Buffer.from([head[0], 0x80 | length, 0, 0, 0, 0]), payload])
}

export function streamFrame(
  epoch: number,
  jobId: number,
  offset: number,
  payload: Buffer,
  stream: StreamName = 'output',
): Buffer {
  return encodeFrame({ kind: 'stream', stream, final: false, epoch, jobId, offset, payload })
}

/** The next message or frame of an agent as it crosses: sealed, in one frame of the WebSocket. */
export function sealedFrame(agent: RawAgent, message: object | Buffer): Buffer {
  const { channel } = agent.handshake
  if (!channel) throw new Error('the agent has no proof yet')
  return maskedFrame(2, channel.seal(Buffer.isBuffer(message) ? message : JSON.stringify(message)))
}

/**
 * Sends bytes again and again.
 * @param next makes them anew each time, since what is sealed may be sent only once
 * @returns true when the other side stopped reading, or ended it, before the last
 */
export async function flood(socket: Socket, next: () => Buffer, times: number): Promise<boolean> {
  socket.setMaxListeners(times + 10)
  for (let round = 0; round < times; round += 1) {
    if (socket.destroyed) return true
    if (!socket.write(next()) && !(await drained(socket))) return true
  }
  return false
}

/** False when it ends first, or takes nothing for long. */
async function drained(socket: Socket): Promise<boolean> {
  const over = new AbortController()
  const end = (): void => over.abort()
  const timer = setTimeout(end, STUCK_MS)
  socket.once('close', end)
  try {
    await once(socket, 'drain', { signal: over.signal })
    return true
  } catch {
    return false
  } finally {
    clearTimeout(timer)
    socket.off('close', end)
  }
}

/** The most memory that a process ever had, in MiB. */
export function highWaterMiB(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
