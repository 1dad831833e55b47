import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'

/** Bytes read, hashed and written at a time. */
const PIECE_BYTES = 256 * 1024

/**
 * Copies an open file into a new one, and hashes exactly the bytes that it writes. When somebody changes the source
 * meanwhile, the hash changes, too.
 * @param mode of the new file, whatever the umask is
 * @returns the SHA-256 of the new file's content, as hex digits
 * @throws the system's error, also EEXIST when there is such a file
 */
export async function copyHashed(source: FileHandle, destination: string, mode: number): Promise<string> {
  const hash = createHash('sha256')
  const piece = Buffer.allocUnsafe(PIECE_BYTES)
  const target = await open(destination, 'wx', mode)
  try {
    for (let at = 0; ;) {
      const { bytesRead } = await source.read(piece, 0, piece.length, at)
      if (bytesRead === 0) break
      const bytes = piece.subarray(0, bytesRead)
      hash.update(bytes)
      for (let done = 0; done < bytesRead;) done += (await target.write(bytes, done, bytesRead - done)).bytesWritten
      at += bytesRead
    }
    await target.chmod(mode)
  } finally {
    await target.close()
  }
  return hash.digest('hex')
}
