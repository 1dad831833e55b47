import { readFile, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { isErrno } from '@holdfast/host/system-errors'
import type { Clock } from '../../time/clock.js'
import { messageOf } from '../../errors.js'
import { MAX_YAML_CHARACTERS, YamlProblem, type YamlText, readYamlInTurns } from '../../texts/yaml-text.js'
import type { FormError } from '../form.js'
import { YOUNG_MS } from './found-files.js'
import type { PlacedForm } from '../parse/parse-form.js'
import { type PlainObject, isPlainObject } from '../values/plain.js'

/** A file of constants: its content, or why it cannot be used. */
export type VarsFile = { readonly value: PlainObject } | { readonly problem: string }

/** The YAML files with constants that forms name, below one folder. */
export type VarsFiles = ReturnType<typeof createVarsFiles>

/** Makes the reader of the files with constants for forms. A file is read again when it has changed. */
export function createVarsFiles(folder: string, clock: Clock) {
  const known = new Map<string, { readonly fingerprint: string; readonly content: VarsFile }>()

  async function read(path: string): Promise<VarsFile> {
    if (!/\.ya?ml$/i.test(path)) return { problem: 'the file must end in .yml or .yaml' }
    const root = await realpath(folder)
    const real = await realpath(join(root, path))
    if (!real.startsWith(root + sep)) return { problem: 'the file must lie below the folder of the vars files' }
    const { ino, size, mtimeMs, ctimeMs } = await stat(real)
    if (size > MAX_YAML_CHARACTERS) return { problem: `the file is larger than ${MAX_YAML_CHARACTERS / 1024 ** 2} MiB` }
    const fingerprint = `${real} ${ino} ${size} ${mtimeMs} ${ctimeMs}`
    const seen = known.get(path)
    if (seen?.fingerprint === fingerprint) return seen.content
    const content = contentOf(await readYamlInTurns(await readFile(real, 'utf8'), 'ansible'))
    // A file that may have changed again with the same time is read again.
    if (clock.now() - Math.max(mtimeMs, ctimeMs) >= YOUNG_MS) known.set(path, { fingerprint, content })
    return content
  }

  async function readSafely(path: string): Promise<VarsFile> {
    try {
      return await read(path)
    } catch (error) {
      return { problem: isErrno(error, 'ENOENT') ? 'there is no such file' : messageOf(error) }
    }
  }

  return {
    /** Reads a file again when it changed. @param path as the form has it, relative to the folder */
    read: readSafely,
    /** The constants of several files. A file that cannot be used has none. */
    async readAll(paths: readonly string[]): Promise<PlainObject[]> {
      const contents = await Promise.all(paths.map(readSafely))
      return contents.map((content) => ('value' in content ? content.value : {}))
    },
  }
}

/** A file of constants that cannot be used is skipped and reported. */
export async function varsProblems(placed: readonly PlacedForm[], varsFiles: VarsFiles): Promise<FormError[]> {
  const errors: FormError[] = []
  for (const { form, file, line } of placed) {
    for (const path of form.varsFiles) {
      const content = await varsFiles.read(path)
      if ('problem' in content) {
        errors.push({ file, line, form: form.name, reason: `varsFiles ${JSON.stringify(path)}: ${content.problem}` })
      }
    }
  }
  return errors
}

/** Objects are merged at every depth. Of other values the later one counts. */
export function mergeDeep(one: PlainObject, other: PlainObject): PlainObject {
  const merged = Object.entries(other).map(([key, value]) => {
    const before = Object.hasOwn(one, key) ? one[key] : undefined
    return [key, isPlainObject(before) && isPlainObject(value) ? mergeDeep(before, value) : value] as const
  })
  return { ...one, ...Object.fromEntries(merged) }
}

function contentOf(read: () => YamlText): VarsFile {
  try {
    const { value } = read()
    // The values go through JSON. So only plain values are passed on, and no alias makes two values the same object.
    return isPlainObject(value)
      ? { value: JSON.parse(JSON.stringify(value)) as PlainObject }
      : { problem: 'the file must hold a mapping' }
  } catch (error) {
    if (error instanceof YamlProblem) return { problem: error.message }
    throw error
  }
}
