import { randomBytes } from 'node:crypto'
import { open, readFile, rename, unlink } from 'node:fs/promises'

/**
 * A copy of the last valid version of a configuration file. It is beside the file, and its name ends in `.last-good`.
 */
export interface LastGoodFile {
  readonly path: string
  /** @returns the text; null when no copy was kept yet */
  read(): Promise<string | null>
  /** Stores this text (mode 0600). The copy is complete, or it is not there. */
  keep(text: string): Promise<void>
}

/** @param path the configuration file */
export function lastGoodOf(path: string): LastGoodFile {
  const copy = `${path}.last-good`
  const read = async (): Promise<string | null> => {
    try {
      return await readFile(copy, 'utf8')
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
      throw error
    }
  }
  return {
    path: copy,
    read,
    async keep(text) {
      if ((await read()) === text) return
      // Several nodes may store it at the same moment. So each writes its own file, and a rename is atomic.
      const temporary = `${copy}.${randomBytes(6).toString('hex')}.tmp`
      const file = await open(temporary, 'wx', 0o600)
      try {
        await file.writeFile(text)
        await file.sync()
        await rename(temporary, copy)
      } catch (error) {
        await unlink(temporary)
        throw error
      } finally {
        await file.close()
      }
    },
  }
}
