import { chmod, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno, unlessMissing } from '@holdfast/host/system-errors'

/** How often it is tried. A process of a job may still write meanwhile. */
const MAX_TRIES = 3

/**
 * Removes a file, or a folder with all that is in it, if it is there. A folder of playbooks may have folders that are
 * closed to their owner, and a playbook may close others. They are opened first. A link is removed, and never followed.
 * @throws the system's error
 */
export async function removeTree(path: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await rm(path, { recursive: true, force: true, maxRetries: 2 })
    } catch (error) {
      // A removal in several places at once may also say ENOTEMPTY. A full or read-only disk does not get better here.
      if (tries === MAX_TRIES || !isErrno(error, 'EACCES', 'EPERM', 'ENOTEMPTY')) throw error
      await openFolders(path)
    }
  }
}

async function openFolders(root: string): Promise<void> {
  const found = await unlessMissing(lstat(root), null)
  const folders = found?.isDirectory() ? [root] : []
  for (const folder of folders) {
    await unlessMissing(chmod(folder, 0o700), null)
    const entries = await unlessMissing(readdir(folder, { withFileTypes: true }), [])
    folders.push(...entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name)))
  }
}
