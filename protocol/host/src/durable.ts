import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { link, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isErrno } from './system-errors.js'

/** Makes the entries of a folder (new, renamed, removed names) survive a power loss. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Writes a new file and syncs its bytes; its name is durable after `syncFolder` of the folder. */
export async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Replaces a file so that after a crash either the old or the whole new content is there. Only its owner may read it.
 * @param temporary where the new content is first. What an earlier crash left there goes away. Left out: a random name
 *   beside the file, so that several processes may write at the same moment
 */
export async function writeDurably(path: string, text: string, temporary?: string): Promise<void> {
  if (temporary !== undefined) await rm(temporary, { force: true })
  await viaTemporary(temporary ?? randomName(path), path, text, (written) => rename(written, path))
}

/** Like `writeDurably`, but synchronous: for the few small files that must be there before the very next step. */
export function writeDurablySync(path: string, text: string): void {
  const temporary = randomName(path)
  try {
    const file = openSync(temporary, 'wx', 0o600)
    try {
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
    const folder = openSync(dirname(path), 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Replaces a file so that a reader sees either the old or the whole new content. It may be lost in a power loss. */
export async function writeReplacing(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`
  await writeFile(temporary, text, { mode: 0o600 })
  await rename(temporary, path)
}

/**
 * Creates a file with its whole content, durably, unless it exists.
 * @returns false when it exists already; its content is untouched
 */
export async function createDurably(path: string, text: string): Promise<boolean> {
  try {
    await viaTemporary(randomName(path), path, text, (written) => link(written, path))
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

const randomName = (path: string) => `${path}.${randomBytes(6).toString('hex')}.tmp`

async function viaTemporary(
  temporary: string,
  path: string,
  text: string,
  publish: (temporary: string) => Promise<void>,
): Promise<void> {
  try {
    await writeSynced(temporary, text)
    await publish(temporary)
    await syncFolder(dirname(path))
  } finally {
    await rm(temporary, { force: true })
  }
}
