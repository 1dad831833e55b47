import { chmod, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno } from '@holdfast/host/system-errors'

/**
 * Removes a file, or a folder with all that is in it, if it is there. A folder of playbooks may have folders that are
 * closed to their owner, and a playbook may close others. They are opened first. A link is removed, and never followed.
 * @throws the system's error
 */
export async function removeTree(path: string): Promise<void> {
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 2 })
  try {
    await remove()
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM')) throw error
    await openFolders(path)
    await remove()
  }
}

async function openFolders(root: string): Promise<void> {
  if (!(await lstat(root)).isDirectory()) return
  const folders = [root]
  for (const folder of folders) {
    await chmod(folder, 0o700)
    const entries = await readdir(folder, { withFileTypes: true })
    folders.push(...entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name)))
  }
}
