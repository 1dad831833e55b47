import { createHash, type Hash } from 'node:crypto'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'

/** A blob on its way in. Its bytes go to a file next to the cache, never into memory. */
export interface IncomingBlob {
  readonly received: number
  append(bytes: Buffer): void
  /** @returns false when the bytes are not what the hash promised; they are gone then */
  finish(): boolean
  discard(): void
}

/**
 * Receives a blob into a new file. Bytes are written synchronously as they come: each frame is small, and the socket
 * waits meanwhile, which bounds the memory.
 * @param keep moves the whole file, whose content is what the hash says, to its place
 * @throws the system's error
 */
export function receiveBlob(path: string, sha256: string, keep: (path: string, size: number) => void): IncomingBlob {
  const file = openSync(path, 'wx', 0o600)
  const hash: Hash = createHash('sha256')
  let open = true
  let received = 0
  const discard = (): void => {
    if (!open) return
    open = false
    closeSync(file)
    rmSync(path, { force: true })
  }
  return {
    get received() {
      return received
    },
    append(bytes) {
      let done = 0
      while (done < bytes.length) done += writeSync(file, bytes, done)
      hash.update(bytes)
      received += bytes.length
    },
    finish() {
      if (!open || hash.digest('hex') !== sha256) {
        discard()
        return false
      }
      open = false
      closeSync(file)
      keep(path, received)
      return true
    },
    discard,
  }
}
