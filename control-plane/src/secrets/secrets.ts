import { randomBytes } from 'node:crypto'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createDurably } from '@holdfast/host/durable'
import { unlessMissing } from '@holdfast/host/system-errors'

/**
 * A secret that is made once and kept in a file (0600). Every later call gets the same one, also in another process at
 * the same moment. The file appears complete or not at all.
 */
export async function keptSecret(folder: string, name: string): Promise<string> {
  const path = join(folder, name)
  const kept = await readIfThere(path)
  if (kept !== null) return kept
  await createPrivateFile(path, `${randomBytes(48).toString('base64url')}\n`)
  const made = await readIfThere(path)
  if (made === null) throw new Error(`${path} went away while it was made`)
  return made
}

/**
 * Writes a file that only its owner may read, and syncs it, unless the file exists already.
 * @returns false when the file exists; it does not change then
 */
export async function createPrivateFile(path: string, content: string): Promise<boolean> {
  // First, because the folder may be one in which no file can be made.
  if ((await unlessMissing(stat(path), null)) !== null) return false
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  // Unlike a rename, this never replaces a file that another process has made in the meantime.
  return createDurably(path, content)
}

async function readIfThere(path: string): Promise<string | null> {
  const text = await unlessMissing(readFile(path, 'utf8'), null)
  if (text?.trim() === '') throw new Error(`${path} is empty; remove it to have a new one made`)
  return text === null ? null : text.trim()
}
