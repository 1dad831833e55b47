import type { AgentMessage, CloseReasonName, ServerMessage, StreamFrame } from '@holdfast/protocol'

/**
 * The open socket of an approved runner, after the handshake. A runner has at most one. A newer one fences it: the
 * older one can write nothing any more.
 */
export interface RunnerConnection {
  readonly runnerId: number
  readonly runnerName: string
  readonly fingerprint: string
  /** The fingerprint of its key, then those of the keys that it had before. Its jobs are known by these. */
  readonly keys: readonly [string, ...string[]]
  /** Raw public key (base64) that secrets are sealed to. */
  readonly sealingKey: string
  /** Frames of another epoch never reach the session. */
  readonly epoch: number
  send(message: ServerMessage): void
  /**
   * Sends a blob, or its content from an offset on, in frames. It waits while the buffer of the socket is full. Control
   * messages go between the frames. Rejects when the connection closes or the source fails.
   */
  sendBlob(sha256: string, size: number, source: AsyncIterable<Buffer>, from?: number): Promise<void>
  /** Stops and resumes reading from the socket. In this way a slow database slows down a fast runner. */
  pause(): void
  resume(): void
  close(reason: CloseReasonName, text: string): void
}

/** Messages about jobs. The hub handles the handshake and the status itself. */
export type JobMessage = Exclude<AgentMessage, { type: 'greeting' | 'hello' | 'status' }>

/**
 * Handles the job traffic of one connection. The calls come in the order in which messages arrived. A ProtocolError
 * closes the connection with its reason.
 */
export interface RunnerSession {
  message(message: JobMessage): void
  frame(frame: StreamFrame): void
  /** The runner's capacity, switch or drain changed. So the session may offer jobs now, or has to stop offering. */
  capacityChanged(capacity: RunnerCapacity): void
  closed(): void
}

/** The facts that decide whether a job may be offered now. */
export interface RunnerCapacity {
  readonly enabled: boolean
  readonly draining: boolean
  /** Playbooks at the same time, 0 = no limit. The admin's number counts, or else the agent's. */
  readonly maxJobs: number
}

/**
 * Makes the session of a connection. It is called for each approved connection, right after `welcome` or the approval.
 */
export type OpenSession = (connection: RunnerConnection, capacity: RunnerCapacity) => RunnerSession
