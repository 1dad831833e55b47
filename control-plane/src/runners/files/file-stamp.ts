import type { BigIntStats } from 'node:fs'
import { isErrno } from '@holdfast/host/system-errors'

/** Tells one version of a file from another one without reading it. */
export interface FileStamp {
  readonly size: number
  /** Inode, size, and the times of the last changes in nanoseconds. */
  readonly key: string
  /** When its content or mode changed last, in milliseconds since the epoch. */
  readonly changedAt: number
  /** Who may read, write and run it: no set-id bit, no sticky bit. */
  readonly mode: number
}

/** The stamp of a file or folder. */
export function stampOf(stat: BigIntStats): FileStamp {
  return {
    size: Number(stat.size),
    key: `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`,
    changedAt: Number(stat.ctimeNs > stat.mtimeNs ? stat.ctimeNs / 1_000_000n : stat.mtimeNs / 1_000_000n),
    mode: Number(stat.mode & 0o777n),
  }
}

/**
 * Whether the error says "there is no such file". This includes the case that a folder above it was removed or became a
 * file.
 */
export function isMissing(error: unknown): boolean {
  return isErrno(error, 'ENOENT', 'ENOTDIR')
}

const PASSING_CODES: ReadonlySet<unknown> = new Set([
  'EAGAIN',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EIO',
  'ESTALE',
  'ETIMEDOUT',
])

/**
 * Whether the error is about the host or its disk at this moment, and not about the file. A file that may not be read
 * (EACCES) stays so until a person changes it.
 */
export function isPassingFileError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && PASSING_CODES.has(error.code)
}
