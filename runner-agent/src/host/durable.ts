import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { link, open, rename, rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { dirname } from 'node:path'

const NUMBERS: Readonly<Record<string, number>> = constants.errno

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

/** Replaces a file so that after a crash either the old or the whole new content is there. */
export async function writeDurably(path: string, text: string): Promise<void> {
  await viaTemporary(path, text, (temporary) => rename(temporary, path))
}

/** Like `writeDurably`, but synchronous: for the few small files that must be there before the very next step. */
export function writeDurablySync(path: string, text: string): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
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
    await viaTemporary(path, text, (temporary) => link(temporary, path))
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

/** True for a system error of one of these codes. By number, too: Node.js has no name for EDQUOT. */
export function isErrno(error: unknown, ...codes: string[]): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  const number = 'errno' in error ? -Number(error.errno) : null
  return codes.some((code) => error.code === code || (number !== null && NUMBERS[code] === number))
}

/** True when the name belongs to something other than a file, such as a folder or a link to itself. */
export function isNoFile(error: unknown): boolean {
  return isErrno(error, 'EISDIR', 'ELOOP')
}

/** True for an error of the host at this moment. It says nothing about the file that was to be read or written. */
export function isPassing(error: unknown): boolean {
  return isErrno(error, 'EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EACCES', 'ESTALE', 'ETIMEDOUT')
}

async function viaTemporary(path: string, text: string, publish: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    await writeSynced(temporary, text)
    await publish(temporary)
    await syncFolder(dirname(path))
  } finally {
    await rm(temporary, { force: true })
  }
}
