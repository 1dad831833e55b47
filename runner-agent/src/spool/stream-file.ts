import { createHash } from 'node:crypto'
import { createReadStream, fstatSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { describeError } from '../log.js'
import { isErrno, isNoFile } from '@holdfast/host/system-errors'

/** A growing file that another process appends to, read at any offset. It is opened by the first read. */
export type StreamFile = ReturnType<typeof createStreamFile>

/** A stream below that path. The file need not exist yet. */
export function createStreamFile(path: string) {
  let opened: Promise<FileHandle> | null = null
  let handle: FileHandle | null = null
  let known = 0

  const openOnce = async (): Promise<FileHandle> => {
    const opening = (opened ??= open(path, 'r'))
    try {
      const file = await opening
      // Unless `close` was called while the file was being opened.
      if (opened === opening) handle = file
      return file
    } catch (error) {
      opened = null
      throw error
    }
  }

  return {
    /** Its length in bytes when it could be looked at last; 0 before that. */
    size(): number {
      try {
        known = handle ? fstatSync(handle.fd).size : statSync(path).size
      } catch {
        // A failed look says nothing. At the end of the job it is checked whether bytes are lost.
      }
      return known
    },
    /** Fills `into` with the bytes from `offset` on. @returns the filled part: less only at the end of the file */
    async read(offset: number, into: Buffer): Promise<Buffer> {
      const file = await openOnce()
      let done = 0
      while (done < into.length) {
        const { bytesRead } = await file.read(into, done, into.length - done, offset + done)
        if (bytesRead === 0) break
        done += bytesRead
      }
      return into.subarray(0, done)
    },
    async close(): Promise<void> {
      // The file is forgotten before it is closed. So a read that comes meanwhile opens the file again.
      const closing = opened
      handle = null
      opened = null
      await (await closing)?.close()
    },
  }
}

/** A file's length and hash, as far as it could be read. */
export interface FileHash {
  readonly length: number
  readonly sha256: string
  /** Why nothing could be read: something other than a file has this name. Null: all of it was read. */
  readonly problem: string | null
  /** False when there is no such name. The caller must find out whether that can be believed. */
  readonly isThere: boolean
}

/**
 * Length and SHA-256 of a file's first `limit` bytes (of all when there is no limit).
 * @throws the system's error when reading fails: no end may follow from a half read file
 */
export async function hashFile(path: string, limit = Infinity): Promise<FileHash> {
  const hash = createHash('sha256')
  let length = 0
  let problem: string | null = null
  let isThere = true
  try {
    if (limit > 0) {
      for await (const piece of createReadStream(path, { end: limit - 1, highWaterMark: 256 * 1024 })) {
        const bytes = piece as Buffer
        hash.update(bytes)
        length += bytes.length
      }
    }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) isThere = false
    else if (isNoFile(error)) problem = describeError(error)
    else throw error
  }
  return { length, sha256: hash.digest('hex'), problem, isThere }
}
