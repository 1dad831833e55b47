import { MAX_PAYLOAD_BYTES } from './contract.js'
import { ProtocolError } from './errors.js'

/**
 * Binary frames carry bulk: pieces of a job's streams (agent to control plane) and blobs (control plane to agent).
 * All numbers are big endian.
 *
 *   stream frame, 24 bytes and the payload:
 *     0  kind 1     1  stream (0 output, 1 events)   2  flags (bit 0: the stream ends with this piece)   3  zero
 *     4  epoch of the connection (u32)               8  job id (u64)                                     16  byte offset (u64)
 *   blob frame, 52 bytes and the payload:
 *     0  kind 2     1..3  zero                       4  SHA-256 of the whole blob (32 bytes)
 *     36 byte offset (u64)                           44 size of the whole blob (u64)
 */
const STREAM_KIND = 1
const BLOB_KIND = 2
const STREAM_HEADER_BYTES = 24
const BLOB_HEADER_BYTES = 52
const FINAL_FLAG = 1

/** The streams of a job. Each is a file that only grows. */
export const STREAMS = ['output', 'events'] as const
/** The name of a stream of a job. */
export type StreamName = (typeof STREAMS)[number]

/** A piece of one stream of one job. `final` says that the stream has ended with this piece. */
export interface StreamFrame {
  readonly kind: 'stream'
  readonly stream: StreamName
  readonly final: boolean
  readonly epoch: number
  readonly jobId: number
  readonly offset: number
  readonly payload: Buffer
}

/** A part of a blob: a playbook file, a manifest, large extra variables, or an uploaded file. */
export interface BlobFrame {
  readonly kind: 'blob'
  readonly sha256: string
  readonly offset: number
  readonly size: number
  readonly payload: Buffer
}

/** What crosses the socket in binary. */
export type Frame = StreamFrame | BlobFrame

/** Encodes a frame; header and payload become one buffer. */
export function encodeFrame(frame: Frame): Buffer {
  if (frame.payload.length > MAX_PAYLOAD_BYTES) throw new ProtocolError('too_large', 'payload over the frame limit')
  if (frame.kind === 'stream') {
    const bytes = Buffer.allocUnsafe(STREAM_HEADER_BYTES + frame.payload.length)
    bytes.writeUInt8(STREAM_KIND, 0)
    bytes.writeUInt8(STREAMS.indexOf(frame.stream), 1)
    bytes.writeUInt8(frame.final ? FINAL_FLAG : 0, 2)
    bytes.writeUInt8(0, 3)
    bytes.writeUInt32BE(frame.epoch, 4)
    bytes.writeBigUInt64BE(BigInt(frame.jobId), 8)
    bytes.writeBigUInt64BE(BigInt(frame.offset), 16)
    frame.payload.copy(bytes, STREAM_HEADER_BYTES)
    return bytes
  }
  const bytes = Buffer.alloc(BLOB_HEADER_BYTES + frame.payload.length)
  bytes.writeUInt8(BLOB_KIND, 0)
  bytes.write(frame.sha256, 4, 32, 'hex')
  bytes.writeBigUInt64BE(BigInt(frame.offset), 36)
  bytes.writeBigUInt64BE(BigInt(frame.size), 44)
  frame.payload.copy(bytes, BLOB_HEADER_BYTES)
  return bytes
}

/**
 * Decodes a binary message. The payload is a view into it.
 * @throws ProtocolError `bad_frame`, `too_large`
 */
export function decodeFrame(bytes: Buffer): Frame {
  const kind = bytes.length > 0 ? bytes.readUInt8(0) : 0
  if (kind === STREAM_KIND && bytes.length >= STREAM_HEADER_BYTES) {
    const stream = STREAMS[bytes.readUInt8(1)]
    const flags = bytes.readUInt8(2)
    if (stream === undefined || flags > FINAL_FLAG) throw new ProtocolError('bad_frame', 'unknown stream or flag')
    return {
      kind: 'stream',
      stream,
      final: flags === FINAL_FLAG,
      epoch: bytes.readUInt32BE(4),
      jobId: readSafeInteger(bytes, 8),
      offset: readSafeInteger(bytes, 16),
      payload: payloadAfter(bytes, STREAM_HEADER_BYTES),
    }
  }
  if (kind === BLOB_KIND && bytes.length >= BLOB_HEADER_BYTES) {
    const frame: BlobFrame = {
      kind: 'blob',
      sha256: bytes.toString('hex', 4, 36),
      offset: readSafeInteger(bytes, 36),
      size: readSafeInteger(bytes, 44),
      payload: payloadAfter(bytes, BLOB_HEADER_BYTES),
    }
    if (frame.offset + frame.payload.length > frame.size) throw new ProtocolError('bad_frame', 'blob part past its end')
    return frame
  }
  throw new ProtocolError('bad_frame', 'not a frame of this contract')
}

function payloadAfter(bytes: Buffer, header: number): Buffer {
  const payload = bytes.subarray(header)
  if (payload.length > MAX_PAYLOAD_BYTES) throw new ProtocolError('too_large', 'payload over the frame limit')
  return payload
}

function readSafeInteger(bytes: Buffer, at: number): number {
  const value = bytes.readBigUInt64BE(at)
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new ProtocolError('bad_frame', 'number out of range')
  return Number(value)
}
