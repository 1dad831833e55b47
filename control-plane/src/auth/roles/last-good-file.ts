import { randomBytes } from 'node:crypto'
import { open, readFile, rename, unlink } from 'node:fs/promises'

/** A copy of a configuration file as it last was in force. It lies beside the file and ends in `.last-good`. */
export interface LastGoodFile {
  readonly path: string
  /** @returns the text; null when no copy was kept yet */
  read(): Promise<string | null>
  /** Keeps this text (0600). The copy appears whole or not at all. */
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
      // Several nodes may keep it at the same moment: each writes a file of its own, and a rename is whole.
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
