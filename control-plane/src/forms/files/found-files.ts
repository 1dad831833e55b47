import type { Dirent, Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { messageOf } from '../../errors.js'
import { MAX_YAML_CHARACTERS } from '../../texts/yaml-text.js'
import type { FormError } from '../form.js'

/** A file or folder that was found, with the facts that show a change. */
export interface FoundEntry {
  /** Its real path. */
  readonly path: string
  readonly fingerprint: string
  /** When it changed, in milliseconds since 1970, by the clock of its file system. */
  readonly changedAt: number
}

/** A file by its name relative to the folder, with `/`. */
export interface FoundFile extends FoundEntry {
  readonly name: string
}

/** The form files of a folder, and what could not be read. */
export interface FoundFiles {
  readonly files: readonly FoundFile[]
  /** The folders that were searched, each in the state before the search. */
  readonly folders: readonly FoundEntry[]
  readonly errors: readonly FormError[]
}

/**
 * File systems store times in steps, of a few milliseconds up to two seconds. So two changes within one step have the
 * same time. A file that changed less than this time before it was read is read again, in milliseconds.
 */
export const YOUNG_MS = 3000

/** What is looked for. */
export interface SearchedFiles {
  /** The word for such a file in messages. */
  readonly noun: string
  /** How many levels of folders are read. If left out: all. */
  readonly depth?: number
}

/**
 * Finds the YAML files below a folder, by relative path. Links are followed only if they stay inside the folder. `.git`
 * is left out.
 */
export async function findYamlFiles(folder: string, { noun, depth }: SearchedFiles): Promise<FoundFiles> {
  const files: FoundFile[] = []
  const folders: FoundEntry[] = []
  const errors: FormError[] = []
  const report = (file: string, reason: string) => errors.push({ file, line: null, form: null, reason })
  let root: string
  try {
    root = await realpath(folder)
  } catch (error) {
    return { files, folders, errors: [{ file: folder, line: null, form: null, reason: messageOf(error) }] }
  }

  /** @param above the real folders from the root down to here: a link back to one of them is not followed again */
  async function walk(real: string, name: string, above: readonly string[]): Promise<void> {
    if (above.includes(real) || above.length > (depth ?? Infinity)) return
    folders.push(entryOf(real, await stat(real)))
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
    else if (stats.size > MAX_YAML_CHARACTERS) {
      report(name, `the file is too large to be a ${noun}: it has more than ${MAX_YAML_CHARACTERS / 1024 ** 2} MiB`)
    } else files.push({ name, ...entryOf(real, stats) })
  }

  try {
    await walk(root, '', [])
  } catch (error) {
    report('.', messageOf(error))
  }
  files.sort(byName)
  errors.sort((a, b) => compare(a.file, b.file))
  return { files, folders, errors }
}

function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true })
}

/**
 * Whether files and folders have not changed since they were found.
 * @param foundAt the time when they were found. A file that had changed just before may have changed again with the
 * same time
 */
export async function areUnchanged(entries: readonly FoundEntry[], foundAt: number): Promise<boolean> {
  if (entries.some(({ changedAt }) => foundAt - changedAt < YOUNG_MS)) return false
  try {
    const states = await Promise.all(entries.map(async ({ path }) => entryOf(path, await stat(path))))
    return states.every(({ fingerprint }, at) => fingerprint === entries[at]?.fingerprint)
  } catch {
    // If a file cannot be checked, the search is repeated.
    return false
  }
}

function entryOf(path: string, { ino, size, mtimeMs, ctimeMs }: Stats): FoundEntry {
  return { path, fingerprint: `${ino} ${size} ${mtimeMs} ${ctimeMs}`, changedAt: Math.max(mtimeMs, ctimeMs) }
}

const byName = (a: FoundFile, b: FoundFile) => compare(a.name, b.name)

/** The same order on every machine, whatever its language is. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
