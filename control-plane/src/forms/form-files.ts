import type { Dirent, Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { messageOf } from '../errors.js'
import type { FormError } from './form.js'

/** A file that was found, with the facts that show a change. */
export interface FoundFile {
  /** Relative to the folder, with `/`. */
  readonly name: string
  readonly path: string
  readonly fingerprint: string
  /** When it changed, in milliseconds since 1970, by the clock of its file system. */
  readonly changedAt: number
}

/** The form files of a folder, and what could not be read. */
export interface FoundFiles {
  readonly files: readonly FoundFile[]
  readonly errors: readonly FormError[]
}

/** Larger files are neither forms nor workflows, in bytes. */
const LARGEST_FILE_BYTES = 8 * 1024 * 1024

/** What is looked for. */
export interface SearchedFiles {
  /** The word for one of them, for messages. */
  readonly noun: string
  /** How many levels of folders are read; left out: all. */
  readonly depth?: number
}

/**
 * Finds the YAML files below a folder, by relative path. Links are followed only if they stay inside the folder. `.git`
 * is left out.
 */
export async function findYamlFiles(folder: string, { noun, depth }: SearchedFiles): Promise<FoundFiles> {
  const files: FoundFile[] = []
  const errors: FormError[] = []
  const report = (file: string, reason: string) => errors.push({ file, line: null, form: null, reason })
  let root: string
  try {
    root = await realpath(folder)
  } catch (error) {
    return { files, errors: [{ file: folder, line: null, form: null, reason: messageOf(error) }] }
  }

  /** @param above the real folders from the root down to here: a link back to one of them is not followed again */
  async function walk(real: string, name: string, above: readonly string[]): Promise<void> {
    if (above.includes(real) || above.length > (depth ?? Infinity)) return
    for (const entry of await entriesOf(real)) {
      if (entry.name === '.git') continue
      const entryName = name === '' ? entry.name : `${name}/${entry.name}`
      try {
        await visit(entry, join(real, entry.name), entryName, [...above, real])
      } catch (error) {
        report(entryName, messageOf(error))
      }
    }
  }

  async function visit(entry: Dirent, path: string, name: string, above: readonly string[]): Promise<void> {
    const real = entry.isSymbolicLink() ? await realpath(path) : path
    if (real !== root && !real.startsWith(root + sep)) {
      report(name, `a link that leaves the ${noun}s folder is not followed`)
      return
    }
    const isYaml = /\.ya?ml$/i.test(entry.name)
    if (!isYaml && entry.isFile()) return
    const stats = await stat(real)
    if (stats.isDirectory()) await walk(real, name, above)
    else if (!isYaml || !stats.isFile()) return
    else if (stats.size > LARGEST_FILE_BYTES) report(name, `the file is too large to be a ${noun}`)
    else
      files.push({
        name,
        path: real,
        fingerprint: fingerprintOf(stats),
        changedAt: Math.max(stats.mtimeMs, stats.ctimeMs),
      })
  }

  try {
    await walk(root, '', [])
  } catch (error) {
    report('.', messageOf(error))
  }
  files.sort(byName)
  errors.sort((a, b) => compare(a.file, b.file))
  return { files, errors }
}

function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true })
}

function fingerprintOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

const byName = (a: FoundFile, b: FoundFile) => compare(a.name, b.name)

/** The same order on every machine, whatever its language. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
