import { chmod, open, stat } from 'node:fs/promises'

/** The files that SQLite makes beside the database file. They get the mode of that file. */
const BESIDE = ['', '-wal', '-shm', '-journal']

/** The bits of a mode that give rights to others than the owner. */
const OF_OTHERS = 0o077

/**
 * Makes a database file, and the files beside it, readable only for its owner (0600), whatever its folder or the umask
 * allows. If the file is missing, it is made here, because SQLite would make it with the mode of the umask.
 * @param warn called for a file that others may read and whose mode cannot be changed
 */
export async function keepFilePrivate(path: string, warn: (text: string) => void): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close()
  } catch {
    // The file exists, or it cannot be made. Then SQLite reports the error itself.
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
