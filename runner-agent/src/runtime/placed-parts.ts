import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '@holdfast/host/durable'
import { isErrno, unlessMissing } from '@holdfast/host/system-errors'
import type { PartFiles } from './part-files.js'

/** Users of jobs read the parts, too. The state folder decides who may come as far as this. */
const FOLDER_MODE = 0o755
const FILE_MODE = 0o644
const MODE_BITS = 0o7777

/** The end of a name that a copy has while it is written. */
export const UNFINISHED = '.new'

/**
 * Makes a folder have exactly these files, durably. A new folder is written under another name and then renamed, so its
 * name says that it is complete. In one that is there already, each file that differs is replaced.
 * @throws the system's error
 */
export async function placeParts(path: string, parts: PartFiles): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE })
  await setMode(dirname(path), FOLDER_MODE)
  if ((await unlessMissing(stat(path), null)) === null) await make(path, parts)
  await mend(path, parts)
}

async function make(path: string, parts: PartFiles): Promise<void> {
  const unfinished = `${path}.${randomBytes(4).toString('hex')}${UNFINISHED}`
  try {
    await mkdir(unfinished, { mode: FOLDER_MODE })
    const folders = await makeFolders(unfinished, parts)
    await Promise.all(parts.files.map(({ name, content }) => writeReadable(join(unfinished, name), content)))
    for (const folder of folders) await syncFolder(folder)
    await rename(unfinished, path)
    await syncFolder(dirname(path))
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    throw error
  }
}

/** Puts right what is not as it must be. On a folder that is right it only reads. */
async function mend(path: string, parts: PartFiles): Promise<void> {
  await makeFolders(path, parts)
  for (const { name, content } of parts.files) {
    const file = join(path, name)
    if ((await contentOf(file))?.equals(content) !== true) await replace(file, content)
    await setMode(file, FILE_MODE)
  }
}

/** @returns the folders, the inner ones first */
async function makeFolders(path: string, { files }: PartFiles): Promise<string[]> {
  const folders = [...new Set([...files.map(({ name }) => dirname(join(path, name))), path])]
  for (const folder of folders) await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  for (const folder of folders) await setMode(folder, FOLDER_MODE)
  return folders.sort((left, right) => right.length - left.length)
}

/** Null for what is no file. */
async function contentOf(file: string): Promise<Buffer | null> {
  try {
    return await readFile(file)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EISDIR', 'ELOOP')) return null
    throw error
  }
}

async function replace(file: string, content: Buffer): Promise<void> {
  const unfinished = `${file}.${randomBytes(4).toString('hex')}${UNFINISHED}`
  try {
    await writeReadable(unfinished, content)
    await rename(unfinished, file)
    await syncFolder(dirname(file))
  } finally {
    await rm(unfinished, { force: true })
  }
}

async function writeReadable(file: string, content: Buffer): Promise<void> {
  const opened = await open(file, 'wx', FILE_MODE)
  try {
    await opened.chmod(FILE_MODE)
    await opened.writeFile(content)
    await opened.sync()
  } finally {
    await opened.close()
  }
}

/** The mask of the agent may have taken rights away. Writes nothing where the mode is right: the disk may be read-only. */
async function setMode(path: string, mode: number): Promise<void> {
  const found = await stat(path)
  if ((found.mode & MODE_BITS) !== mode) await chmod(path, mode)
}
