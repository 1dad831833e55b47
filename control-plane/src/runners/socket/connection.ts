import type { AgentMessage, CloseReasonName, ServerMessage, StreamFrame } from '@holdfast/protocol'

/** The live socket of an approved runner, after the handshake. One runner has at most one; a newer one fences it. */
export interface RunnerConnection {
  readonly runnerId: number
  readonly runnerName: string
  readonly fingerprint: string
  /** That one, then those of the keys that it had before: its jobs are known by them. */
  readonly keys: readonly [string, ...string[]]
  /** The newest contract that its agent speaks. */
  readonly contract: number
  /** Raw public key (base64) that secrets are sealed to. */
  readonly sealingKey: string
  /** Frames of another epoch never reach the session. */
  readonly epoch: number
  send(message: ServerMessage): void
  /**
   * Sends a blob, or what it holds from an offset on, in frames, waiting while the socket's buffer is full; control messages go between its frames.
   * Rejects when the connection closes meanwhile or the source fails.
   */
  sendBlob(sha256: string, size: number, source: AsyncIterable<Buffer>, from?: number): Promise<void>
  /** Stops and resumes reading from the socket: how a slow database slows a fast runner. */
  pause(): void
  resume(): void
  close(reason: CloseReasonName, text: string): void
}

/** Messages that are about jobs; the hub keeps the handshake and the status to itself. */
export type JobMessage = Exclude<AgentMessage, { type: 'greeting' | 'hello' | 'status' }>

/**
 * What handles the job traffic of one connection. Calls come in the order in which things arrived. A thrown
 * ProtocolError closes the connection with its reason.
 */
export interface RunnerSession {
  message(message: JobMessage): void
  frame(frame: StreamFrame): void
  /** The runner's capacity, switch or drain changed: there may be something to offer, or nothing more. */
  capacityChanged(capacity: RunnerCapacity): void
  closed(): void
}

/** What decides whether a job may be offered now. */
export interface RunnerCapacity {
  readonly enabled: boolean
  readonly draining: boolean
  /** Playbooks at once, 0 = no limit: the admin's number, else the agent's. */
  readonly maxJobs: number
}

/** Makes the session of a connection; called for each approved connection, at once after `welcome` or the approval. */
export type OpenSession = (connection: RunnerConnection, capacity: RunnerCapacity) => RunnerSession
