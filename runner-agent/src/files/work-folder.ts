import { foldersAround, isSafeLink, type Manifest } from '@holdfast/protocol'
import { chmod, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { forEachLimited } from '../for-each-limited.js'
import type { BlobCache } from './blob-cache.js'

const AT_ONCE = 8

/** The mode of the work folder itself, and of a folder of which the manifest does not say one. */
const FOLDER_MODE = 0o755

/** A work folder that shall be made. */
export interface WorkFolder {
  readonly path: string
  /** Permission bits that nothing in it gets (RTE_FILES_UMASK). */
  readonly umask: number
}

/**
 * Makes a job's own playbook folder from the cache. Copies, not hard links: a playbook may write into its folder.
 * Every copy is hashed while it is made, so what runs is what the control plane sent.
 * Links come after all files, so that no file is ever written through one. The modes of folders come last: nothing could
 * be written into a folder that is closed to its owner.
 * @throws UnusableBlobError; an Error for a link that leads out of the folder
 */
export async function makeWorkFolder(
  { path: root, umask }: WorkFolder,
  manifest: Manifest,
  cache: BlobCache,
): Promise<void> {
  const narrowed = (mode: number): number => mode & ~umask
  await mkdir(root, { mode: 0o700 })
  const entries = [...manifest.files, ...manifest.links, ...manifest.folders]
  const modes = new Map(entries.flatMap(({ path }) => foldersAround(path)).map((path) => [path, FOLDER_MODE]))
  for (const { path, mode } of manifest.folders) modes.set(path, mode)
  await forEachLimited(modes.keys(), AT_ONCE, async (path) => {
    await mkdir(join(root, path), { recursive: true, mode: 0o700 })
  })
  await forEachLimited(manifest.files, AT_ONCE, async ({ path, sha256, mode }) => {
    await cache.copyTo(sha256, join(root, path), narrowed(mode))
  })
  for (const { path, target } of manifest.links) {
    if (!isSafeLink(path, target)) throw new Error(`the link ${JSON.stringify(path)} leads out of the playbook folder`)
    await symlink(target, join(root, path))
  }
  // A folder is longer than those around it, so it comes before them.
  for (const [path, mode] of [...modes].sort(([one], [other]) => other.length - one.length)) {
    await chmod(join(root, path), narrowed(mode))
  }
  await chmod(root, narrowed(FOLDER_MODE))
}
