import { readFile } from 'node:fs/promises'
import { writeDurably } from '@holdfast/host/durable'
import { unlessMissing } from '@holdfast/host/system-errors'

/**
 * A copy of the last valid version of a configuration file. It is beside the file, and its name ends in `.last-good`.
 * @param path the configuration file
 */
export function lastGoodOf(path: string) {
  const copy = `${path}.last-good`
  /** @returns the text; null when no copy was kept yet */
  const read = (): Promise<string | null> => unlessMissing(readFile(copy, 'utf8'), null)
  return {
    path: copy,
    read,
    /** Stores this text (mode 0600). The copy is complete, or it is not there. */
    async keep(text: string): Promise<void> {
      if ((await read()) === text) return
      // Several nodes may store it at the same moment. Each writes a file of its own, and a rename is atomic.
      await writeDurably(copy, text)
    },
  }
}
