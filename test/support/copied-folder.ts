import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { waitFor } from './wait.js'

/**
 * Copies a folder that programs go on to write, as a backup or an image of the host does. A file that goes away beneath
 * the copying is no fault: Python renames each file of its cache once. So the copying begins again until it was whole.
 */
export async function copyLiveFolder(from: string, to: string): Promise<void> {
  await waitFor(`a whole copy of ${from}`, () => {
    rmSync(to, { recursive: true, force: true })
    return spawnSync('cp', ['-a', from, to]).status === 0
  })
}
