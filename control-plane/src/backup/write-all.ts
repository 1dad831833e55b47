import type { FileHandle } from 'node:fs/promises'
import { BackupError } from './backup-error.js'

/** Writes all bytes to a file, also when it takes them in pieces. @throws BackupError when it takes nothing more */
export async function writeAll(file: Pick<FileHandle, 'write'>, bytes: Uint8Array): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    const { bytesWritten } = await file.write(bytes.subarray(written))
    if (bytesWritten === 0) throw new BackupError('cannot_write', 'The disk takes no more bytes')
    written += bytesWritten
  }
}
