import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'

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
  if (await isThere(path)) return false
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
    // Unlike a rename, a link never replaces a file that another process has made in the meantime.
    await link(temporary, path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  } finally {
    await file.close()
    await unlink(temporary)
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    const text = (await readFile(path, 'utf8')).trim()
    if (text === '') throw new Error(`${path} is empty; remove it to have a new one made`)
    return text
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
