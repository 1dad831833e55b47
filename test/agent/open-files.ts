import { readdirSync, readlinkSync } from 'node:fs'

/** The files below a folder that this process has open. Whoever forgets to close one loses a place for others. */
export function openFilesBelow(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      // The descriptor by which the list was read.
      return []
    }
  })
}
