import { createHash } from 'node:crypto'
import { createReadStream, fstatSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { isErrno } from './durable.js'

/** A growing file that another process appends to, read at any offset. It is opened by the first read. */
export interface StreamFile {
  /** Its length now, in bytes; 0 while it does not exist. */
  size(): number
  /** Fills `into` with the bytes from `offset` on. @returns the filled part: less only at the end of the file */
  read(offset: number, into: Buffer): Promise<Buffer>
  close(): Promise<void>
}

export function createStreamFile(path: string): StreamFile {
  let opened: Promise<FileHandle> | null = null
  let handle: FileHandle | null = null

  const openOnce = async (): Promise<FileHandle> => {
    opened ??= open(path, 'r')
    try {
      handle = await opened
      return handle
    } catch (error) {
      opened = null
      throw error
    }
  }

  return {
    size() {
      if (handle) return fstatSync(handle.fd).size
      return statSync(path, { throwIfNoEntry: false })?.size ?? 0
    },
    async read(offset, into) {
      const file = await openOnce()
      let done = 0
      while (done < into.length) {
        const { bytesRead } = await file.read(into, done, into.length - done, offset + done)
        if (bytesRead === 0) break
        done += bytesRead
      }
      return into.subarray(0, done)
    },
    async close() {
      // Let go of at once: a read that comes meanwhile opens the file anew.
      const closing = opened
      handle = null
      opened = null
      await (await closing)?.close()
    },
  }
}

/** Length and SHA-256 of a file's first `limit` bytes (of all when there is no limit). A missing file is empty. */
export async function hashFile(path: string, limit = Infinity): Promise<{ length: number; sha256: string }> {
  const hash = createHash('sha256')
  let length = 0
  try {
    if (limit > 0) {
      for await (const piece of createReadStream(path, { end: limit - 1, highWaterMark: 256 * 1024 })) {
        const bytes = piece as Buffer
        hash.update(bytes)
        length += bytes.length
      }
    }
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
  return { length, sha256: hash.digest('hex') }
}
