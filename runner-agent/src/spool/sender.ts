import {
  type AgentMessage,
  type StreamFrame,
  WINDOW_PER_JOB_BYTES,
  WINDOW_PER_SOCKET_BYTES,
  MAX_PAYLOAD_BYTES,
} from '@holdfast/protocol'
import type { Replica, ReplicaItem } from './replica.js'

/** Most bytes that wait in this process for the network. It is small, so that a control message is soon on its way. */
const SOCKET_BUFFER_BYTES = 1024 * 1024

/** Part of the socket's window that a backlog may not use: a running job's newest bytes always find room. */
const LIVE_RESERVE_BYTES = WINDOW_PER_SOCKET_BYTES / 4

/** What the sender needs of the connection. */
export interface SenderPort {
  readonly open: boolean
  /** Bytes that wait in this process for the network. */
  bufferedBytes(): number
  send(message: AgentMessage): void
  /** `flushed` is called when the bytes have left this process. */
  sendFrame(frame: Omit<StreamFrame, 'kind' | 'epoch'>, flushed: () => void): void
}

/**
 * Sends the jobs of one connection, piece by piece in turn, within the windows of unacknowledged bytes per job and per
 * socket. One piece is read at a time, so memory stays bounded whatever waits on disk.
 */
export type Sender = ReturnType<typeof createSender>

/** @param onError is told when the streams of a job cannot be read; the sender has let go of the job then */
export function createSender(port: SenderPort, onError: (replica: Replica, error: unknown) => void) {
  const replicas: Replica[] = []
  // Only one piece at a time is between disk and socket, and the socket makes a copy of it.
  const space = Buffer.allocUnsafeSlow(MAX_PAYLOAD_BYTES)
  let turn = 0
  let running = false

  /** Bytes under way and not acknowledged. */
  const unacknowledged = (): number => replicas.reduce((sum, replica) => sum + replica.unacknowledged, 0)

  /** Bytes that may be sent for a job now. */
  const roomFor = (replica: Replica, underWay: number): number => {
    const isLive = replica.remaining <= MAX_PAYLOAD_BYTES
    const socketWindow = isLive ? WINDOW_PER_SOCKET_BYTES : WINDOW_PER_SOCKET_BYTES - LIVE_RESERVE_BYTES
    return Math.min(WINDOW_PER_JOB_BYTES - replica.unacknowledged, socketWindow - underWay)
  }

  const pick = (): { replica: Replica; room: number } | null => {
    const underWay = unacknowledged()
    for (let step = 0; step < replicas.length; step += 1) {
      const index = (turn + step) % replicas.length
      const replica = replicas[index]
      if (!replica) continue
      const room = roomFor(replica, underWay)
      if (!replica.isReady(room)) continue
      turn = index + 1
      return { replica, room }
    }
    return null
  }

  const send = (replica: Replica, item: ReplicaItem): void => {
    if (item.kind === 'end') {
      port.send({ type: 'end', job_id: replica.number, record: item.record })
      return
    }
    const { stream, offset, payload, final } = item
    port.sendFrame({ jobId: replica.number, stream, offset, payload, final }, wake)
  }

  const pump = async (): Promise<void> => {
    while (port.open && port.bufferedBytes() <= SOCKET_BUFFER_BYTES) {
      const next = pick()
      if (!next) break
      const { replica, room } = next
      try {
        const item = await replica.next(room, space)
        if (item && port.open && replicas.includes(replica)) send(replica, item)
      } catch (error) {
        remove(replica)
        onError(replica, error)
      }
    }
    // There is no `await` between the last look and this line, so no wake is missed.
    running = false
  }

  /** Perhaps more can be sent now: a file grew, or an acknowledgement or an end came. */
  function wake(): void {
    if (running) return
    running = true
    void pump()
  }

  function remove(replica: Replica): void {
    const index = replicas.indexOf(replica)
    if (index >= 0) replicas.splice(index, 1)
  }

  return {
    add(replica: Replica): void {
      if (!replicas.includes(replica)) replicas.push(replica)
      wake()
    },
    remove,
    wake,
    unacknowledged,
  }
}
