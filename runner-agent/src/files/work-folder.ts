import { isSafeLink, type Manifest } from '@holdfast/protocol'
import { constants } from 'node:fs'
import { chmod, copyFile, mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { forEachLimited } from '../async.js'
import { isErrno } from '../spool/durable.js'
import type { BlobCache } from './blob-cache.js'

const AT_ONCE = 8

/** A blob of the manifest is not in the cache. */
export class MissingBlobError extends Error {
  override readonly name = 'MissingBlobError'

  constructor(readonly sha256: string) {
    super('a file went missing from the cache')
  }
}

/**
 * Makes a job's own playbook folder from the cache. Copies, not hard links: a playbook may write into its folder.
 * Links come after all files, so that no file is ever written through one.
 * @throws MissingBlobError; an Error for a link that leads out of the folder
 */
export async function makeWorkFolder(root: string, manifest: Manifest, cache: BlobCache): Promise<void> {
  await mkdir(root, { mode: 0o755 })
  const folders = new Set([...manifest.files, ...manifest.links].map(({ path }) => dirname(path)))
  folders.delete('.')
  await forEachLimited(folders, AT_ONCE, async (folder) => {
    await mkdir(join(root, folder), { recursive: true, mode: 0o755 })
  })
  await forEachLimited(manifest.files, AT_ONCE, async ({ path, sha256, executable }) => {
    const destination = join(root, path)
    try {
      await copyFile(cache.pathOf(sha256), destination, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
    } catch (error) {
      if (isErrno(error, 'ENOENT')) throw new MissingBlobError(sha256)
      throw error
    }
    if (executable) await chmod(destination, 0o755)
  })
  for (const { path, target } of manifest.links) {
    if (!isSafeLink(path, target)) throw new Error(`the link ${JSON.stringify(path)} leads out of the playbook folder`)
    await symlink(target, join(root, path))
  }
}
