import { createSerialQueue } from '@holdfast/host/queues'
import { MAX_PAYLOAD_BYTES, encodeFrame } from '@holdfast/protocol'

/** What the sender needs of a socket. */
export interface FrameSink {
  readonly ended: boolean
  sendBytes(bytes: Buffer): Promise<void>
}

/**
 * Sends the blobs of one connection. Only one frame is on its way at a time, however many blobs there are. The next
 * frame is passed to the socket when the last one has left for the network. So a control message never waits behind
 * more than one frame, a slow network slows down the reading of files, and several blobs take turns frame by frame.
 */
export class BlobSender {
  readonly #lane = createSerialQueue()

  constructor(private readonly sink: FrameSink) {}

  /**
   * Sends the blob of that hash. `source` is its content from the offset `from` up to its `size`. An empty blob is one
   * empty frame.
   * @throws Error when the connection ends, the source fails, or the source is not `size` bytes long
   */
  async send(sha256: string, size: number, source: AsyncIterable<Buffer>, from = 0): Promise<void> {
    let offset = from
    for await (const chunk of source) {
      for (let at = 0; at < chunk.length; at += MAX_PAYLOAD_BYTES) {
        const payload = chunk.subarray(at, at + MAX_PAYLOAD_BYTES)
        if (offset + payload.length > size) throw new Error(`a blob of ${size} bytes turned out to be longer`)
        await this.#frame(encodeFrame({ kind: 'blob', sha256, offset, size, payload }))
        offset += payload.length
      }
    }
    if (offset < size) throw new Error(`a blob of ${size} bytes ended after ${offset}`)
    if (size === 0) await this.#frame(encodeFrame({ kind: 'blob', sha256, offset, size, payload: Buffer.alloc(0) }))
  }

  #frame(bytes: Buffer): Promise<void> {
    return this.#lane.add(() => this.sink.sendBytes(bytes))
  }
}
