import { readFile, readdir, realpath, stat } from 'node:fs/promises'
import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { HoldfastError } from '../errors.js'
import { readJson } from '../texts/json-text.js'
import { YamlProblem, readYamlInTurns } from '../texts/yaml-text.js'
import { SourceProblem } from './question.js'

/** Largest file that a form can read. */
const MAX_FILE_BYTES = 8 * 1024 * 1024
/** Most entries of a list. */
const MAX_ENTRIES = 10_000
/** A recursive list of deeper folders is refused. */
const MAX_DEPTH = 20

/** Reads files for forms, below one folder. */
export type FormFiles = ReturnType<typeof createFormFiles>

/** What `fn.fnLs` is asked for. */
export interface ListOptions {
  readonly recursive: boolean
  /** True: each entry is an object with size and times, and folders are in the list, too. */
  readonly metadata: boolean
}

/** @param folder FORM_FILES_PATH; a path that leaves it, also by a symbolic link, is refused */
export function createFormFiles(folder: string) {
  async function placeOf(path: string): Promise<string> {
    const root = await realpath(folder).catch(() => {
      throw new SourceProblem('there is no folder for the files of forms (FORM_FILES_PATH)')
    })
    const wanted = isAbsolute(path) ? resolve(path) : join(root, path)
    // A path outside is refused before anything looks at it. So a form cannot find out whether it exists.
    const isInside = [root, resolve(folder)].some((one) => wanted === one || wanted.startsWith(one + sep))
    if (!isInside) throw outside(path)
    const real = await realpath(wanted).catch(() => {
      throw new SourceProblem(`there is no file ${path}`)
    })
    if (real !== root && !real.startsWith(root + sep)) throw outside(path)
    return real
  }

  async function textOf(path: string): Promise<string> {
    const real = await placeOf(path)
    const found = await stat(real)
    if (!found.isFile()) throw new SourceProblem(`${path} is no file`)
    if (found.size > MAX_FILE_BYTES) throw new SourceProblem(`the file ${path} is too large`)
    return readFile(real, 'utf8')
  }

  return {
    /** @throws SourceProblem */
    async readYaml(path: string): Promise<unknown> {
      const read = await readYamlInTurns(await textOf(path))
      return parsed(path, () => read().value)
    },
    /** @throws SourceProblem */
    async readJson(path: string): Promise<unknown> {
      const text = await textOf(path)
      return parsed(path, () => readJson(text))
    },
    /** The names of files in a folder, or objects with more about each entry. @throws SourceProblem */
    async list(path: string, { recursive, metadata }: ListOptions): Promise<unknown[]> {
      const root = await placeOf(path)
      if (!(await stat(root)).isDirectory()) throw new SourceProblem(`${path} is no folder`)
      const entries: unknown[] = []
      const walk = async (below: string, depth: number): Promise<void> => {
        const found = await readdir(below, { withFileTypes: true })
        for (const entry of found.sort((one, other) => (one.name < other.name ? -1 : 1))) {
          const whole = join(below, entry.name)
          const name = relative(root, whole)
          const isFolder = entry.isDirectory()
          // A symbolic link counts as neither folder nor file. It is left out, because it may lead out of the folder.
          if (!isFolder && !entry.isFile()) continue
          if (metadata || !isFolder) {
            if (entries.length === MAX_ENTRIES) throw new SourceProblem(`${path} has more than ${MAX_ENTRIES} entries`)
            entries.push(metadata ? await detailsOf(name, whole, isFolder) : name)
          }
          if (!recursive || !isFolder) continue
          if (depth === MAX_DEPTH) throw new SourceProblem(`${path} has folders deeper than ${MAX_DEPTH}`)
          await walk(whole, depth + 1)
        }
      }
      await walk(root, 0)
      return entries
    },
  }
}

async function detailsOf(name: string, whole: string, isFolder: boolean) {
  const { size, mtime, birthtime, atime, mode } = await stat(whole)
  const times = { mtime, birthtime, modified: mtime, created: birthtime, accessed: atime }
  const kind = {
    type: isFolder ? 'directory' : 'file',
    isDirectory: isFolder,
    isFile: !isFolder,
    isSymbolicLink: false,
  }
  return { name: basename(name), path: name, size, mode, ...times, ...kind }
}

function parsed(path: string, parse: () => unknown): unknown {
  try {
    // The way through JSON leaves only plain values.
    return JSON.parse(JSON.stringify(parse()) ?? 'null') as unknown
  } catch (error) {
    const isLimit = error instanceof HoldfastError || (error instanceof YamlProblem && error.kind === 'limit')
    throw new SourceProblem(`the file ${path} holds no valid YAML or JSON${isLimit ? `: ${error.message}` : ''}`)
  }
}

function outside(path: string): SourceProblem {
  return new SourceProblem(`the file ${path} is not below the folder for the files of forms (FORM_FILES_PATH)`)
}
