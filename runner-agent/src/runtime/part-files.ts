import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { isErrno } from '@holdfast/host/system-errors'

/** The parts beside ansible are not all there. The package is being replaced, or somebody removed something of it. */
export class MissingPartsError extends Error {
  override readonly name = 'MissingPartsError'
  /** As the system says it of a file. So it counts as an error that says nothing about a job. */
  readonly code = 'ENOENT'
}

/** A file of the parts beside ansible. */
export interface PartFile {
  /** Its path in the folder of the parts. */
  readonly name: string
  readonly content: Buffer
}

/** All files of the parts, and one hash of their names and contents. */
export interface PartFiles {
  readonly hash: string
  readonly files: readonly PartFile[]
}

const ENTRIES = ['supervisor.py', 'isolation.py', 'locks.py', 'requirements.py', 'callback/holdfast_events.py']
/** The modules that a file needs: `from holdfast_job.job import Job`, `from holdfast_job import leftovers`. */
const IMPORTS = /^\s*from holdfast_job(?:\.(?<of>\w+) import| import (?<module>\w+))/gm

/**
 * Reads all parts from the folder of a package. Files of other kinds, such as those of a package that is being unpacked,
 * are passed over.
 * @throws MissingPartsError when a part is not there, or changed meanwhile; the system's error when one cannot be read
 */
export async function readPartFiles(folder: string): Promise<PartFiles> {
  try {
    const before = await list(folder)
    const files = await Promise.all(
      before.map(async ({ name }) => ({ name, content: await readFile(join(folder, name)) })),
    )
    const missing = missingOf(files)
    if (missing !== undefined) throw new MissingPartsError(`${join(folder, missing)} is not there`)
    if (printOf(await list(folder)) !== printOf(before)) throw new MissingPartsError(`${folder} is being replaced`)
    return { hash: hashOf(files), files }
  } catch (error) {
    if (isErrno(error, 'ENOENT') && error instanceof Error) throw new MissingPartsError(error.message)
    throw error
  }
}

interface Listed {
  readonly name: string
  readonly found: Stats
}

async function list(folder: string): Promise<Listed[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  const names = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.py'))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
  return Promise.all(names.map(async (name) => ({ name, found: await stat(join(folder, name)) })))
}

function printOf(listed: readonly Listed[]): string {
  return listed.map(({ name, found: { ino, size, mtimeMs } }) => [name, ino, size, mtimeMs].join(' ')).join('\n')
}

/** The name of a file that must be there and is not. */
function missingOf(files: readonly PartFile[]): string | undefined {
  const names = new Set(files.map(({ name }) => name))
  const needed = files.flatMap(({ content }) =>
    [...content.toString('utf8').matchAll(IMPORTS)].map(
      ({ groups }) => `holdfast_job/${groups?.of ?? groups?.module ?? ''}.py`,
    ),
  )
  return [...ENTRIES, 'holdfast_job/__init__.py', ...needed].find((name) => !names.has(name))
}

function hashOf(files: readonly PartFile[]): string {
  const hash = createHash('sha256')
  for (const { name, content } of files) hash.update(`${name}\0${content.length}\0`).update(content)
  return hash.digest('hex')
}
