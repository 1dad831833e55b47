import { chmod, open, stat } from 'node:fs/promises'

/** What SQLite keeps beside the database file; it makes them with the mode of that file. */
const BESIDE = ['', '-wal', '-shm', '-journal']

/** Bits by which others than the owner may do something with a file. */
const OF_OTHERS = 0o077

/**
 * Makes a database file, and what stands beside it, readable for its owner only (0600), whatever its folder or the umask
 * allows. The file is made when it is not there yet, because SQLite would make it with the umask.
 * @param warn told about a file that others may read and whose mode cannot be changed
 */
export async function keepFilePrivate(path: string, warn: (text: string) => void): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close()
  } catch {
    // It is there, or cannot be made: SQLite then says so in its own words.
  }
  for (const end of BESIDE) await keepPrivate(path + end, warn)
}

async function keepPrivate(path: string, warn: (text: string) => void): Promise<void> {
  const mode = await stat(path).then(
    (found) => (found.isFile() ? found.mode : null),
    () => null,
  )
  if (mode === null || (mode & OF_OTHERS) === 0) return
  try {
    await chmod(path, 0o600)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    warn(`others may read ${path}, and its mode cannot be changed: ${why}`)
  }
}
