import { createDurably } from '@holdfast/host/durable'
import { isErrno } from '@holdfast/host/system-errors'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'

/**
 * What tells a folder from a copy of it: when a file in it was made, and the number of the inode of that file. Both stay
 * when the folder is moved on its file system, and when the disk is mounted again. A copy of a whole disk, such as that of
 * a virtual machine, has them, too.
 */
export const folderMarkSchema = v.object({
  inode: v.string(),
  /** When it was made, in nanoseconds; null: the file system does not tell. */
  born: v.nullable(v.string()),
})
/** The mark of one folder. */
export type FolderMark = v.InferOutput<typeof folderMarkSchema>

/** A file and not the folder itself: the inode of a folder has another number after each mount of some file systems. */
const NAME = 'mark'

/** The mark of a folder, which gets one if it has none. Undefined: it has none, and the disk takes no file now. */
export async function folderMarkOf(folder: string): Promise<FolderMark | undefined> {
  const path = join(folder, NAME)
  try {
    await createDurably(path, '')
  } catch {
    // It may be there all the same.
  }
  try {
    const { ino, birthtimeNs, ctimeNs } = statSync(path, { bigint: true })
    // Where the time of the making is not known, Node.js gives 0, or the time of the last change.
    const isKnown = birthtimeNs > 0n && birthtimeNs < ctimeNs
    return { inode: String(ino), born: isKnown ? String(birthtimeNs) : null }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/**
 * Whether the two are marks of different folders. No program can choose when a file was made. So this counts more than
 * the inode, whose number may change on a file system of the network.
 */
export function isOtherFolder(one: FolderMark, other: FolderMark): boolean {
  return one.born !== null && other.born !== null ? one.born !== other.born : one.inode !== other.inode
}
