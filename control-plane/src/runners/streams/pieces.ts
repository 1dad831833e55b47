/**
 * Most pieces that are kept as they arrived. More are joined, because a small piece costs far more memory than its
 * bytes.
 */
const MAX_LOOSE = 1000

/**
 * Bytes that arrive in pieces of any size and are taken out in order. Their memory is bounded by the number of bytes.
 */
export class Pieces {
  #joined: Buffer[] = []
  #loose: Buffer[] = []
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  add(piece: Buffer): void {
    if (piece.length === 0) return
    this.#bytes += piece.length
    if (this.#loose.push(piece) >= MAX_LOOSE) this.#join()
  }

  /** Like `add`, but the piece is not joined with others. */
  addApart(piece: Buffer): void {
    this.#join()
    this.add(piece)
    this.#join()
  }

  /** The first piece as it is kept; undefined when there is none. */
  first(): Buffer | undefined {
    if (this.#joined.length === 0) this.#join()
    return this.#joined[0]
  }

  /** Removes this many bytes from the first piece. */
  shift(bytes: number): void {
    const first = this.first()
    if (!first) return
    this.#bytes -= Math.min(bytes, first.length)
    if (bytes < first.length) this.#joined[0] = first.subarray(bytes)
    else this.#joined.shift()
  }

  /** All bytes in one buffer. */
  takeAll(): Buffer {
    this.#join()
    const all = this.#joined.length === 1 ? (this.#joined[0] as Buffer) : Buffer.concat(this.#joined)
    this.clear()
    return all
  }

  clear(): void {
    this.#joined = []
    this.#loose = []
    this.#bytes = 0
  }

  #join(): void {
    if (this.#loose.length === 0) return
    this.#joined.push(this.#loose.length === 1 ? (this.#loose[0] as Buffer) : Buffer.concat(this.#loose))
    this.#loose = []
  }
}
