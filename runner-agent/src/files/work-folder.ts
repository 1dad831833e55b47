import { isSafeLink, type Manifest } from '@holdfast/protocol'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { forEachLimited } from '../for-each-limited.js'
import type { BlobCache } from './blob-cache.js'

const AT_ONCE = 8

/**
 * Makes a job's own playbook folder from the cache. Copies, not hard links: a playbook may write into its folder.
 * Every copy is hashed while it is made, so what runs is what the control plane sent.
 * Links come after all files, so that no file is ever written through one.
 * @throws UnusableBlobError; an Error for a link that leads out of the folder
 */
export async function makeWorkFolder(root: string, manifest: Manifest, cache: BlobCache): Promise<void> {
  await mkdir(root, { mode: 0o755 })
  const folders = new Set([...manifest.files, ...manifest.links].map(({ path }) => dirname(path)))
  folders.delete('.')
  await forEachLimited(folders, AT_ONCE, async (folder) => {
    await mkdir(join(root, folder), { recursive: true, mode: 0o755 })
  })
  await forEachLimited(manifest.files, AT_ONCE, async ({ path, sha256, executable }) => {
    await cache.copyTo(sha256, join(root, path), executable ? 0o755 : 0o644)
  })
  for (const { path, target } of manifest.links) {
    if (!isSafeLink(path, target)) throw new Error(`the link ${JSON.stringify(path)} leads out of the playbook folder`)
    await symlink(target, join(root, path))
  }
}
