import { statSync } from 'node:fs'
import * as v from 'valibot'

/**
 * What tells a folder from a copy of it. Both stay when the folder is moved on its file system, and when the disk is
 * mounted again. A copy of a whole disk, such as that of a virtual machine, has them, too.
 */
export const folderMarkSchema = v.object({
  inode: v.string(),
  /** When it was made, in nanoseconds; null: the file system does not tell. */
  born: v.nullable(v.string()),
})
/** The mark of one folder. */
export type FolderMark = v.InferOutput<typeof folderMarkSchema>

/** @throws the system's error */
export function folderMarkOf(path: string): FolderMark {
  const { ino, birthtimeNs, ctimeNs } = statSync(path, { bigint: true })
  // Where the time of the making is not known, Node.js gives 0, or the time of the last change.
  const isKnown = birthtimeNs > 0n && birthtimeNs < ctimeNs
  return { inode: String(ino), born: isKnown ? String(birthtimeNs) : null }
}

/** Whether the two are marks of different folders. */
export function isOtherFolder(one: FolderMark, other: FolderMark): boolean {
  if (one.inode !== other.inode) return true
  return one.born !== null && other.born !== null && one.born !== other.born
}
