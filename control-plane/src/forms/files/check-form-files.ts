import { readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { differencesToAnsible } from '../../texts/yaml-differences.js'
import { messageOf } from '../../errors.js'
import { collectForms } from './collect-forms.js'
import type { FormError } from '../form.js'
import { findYamlFiles } from './found-files.js'
import { type ParsedFile, type PlacedForm, parseFormFile } from '../parse/parse-form.js'

/** The result of loading form files: the valid forms, and why others would be left out. */
export interface CheckedFormFiles {
  readonly forms: readonly PlacedForm[]
  readonly errors: readonly FormError[]
  /** What is good, and may mean something else than its author thinks. */
  readonly notes: readonly FormError[]
}

/**
 * Reads form files as the service does, as if there were no others. For a folder, all form files below it are read.
 * Never throws: a file that cannot be read is one of the errors.
 * @param paths files and folders, in the order in which forms count
 */
export async function checkFormFiles(paths: readonly string[]): Promise<CheckedFormFiles> {
  const contents: ParsedFile[] = []
  const folderErrors: FormError[] = []
  const notes: FormError[] = []
  const read = async (name: string, path: string) => {
    const text = await readFile(path, 'utf8')
    contents.push(parseFormFile(name, text))
    notes.push(...differencesToAnsible(text).map(({ line, reason }) => ({ ...errorAt(name, reason), line })))
  }
  for (const path of paths) {
    try {
      if ((await stat(path)).isDirectory()) {
        const found = await findYamlFiles(path, { noun: 'form' })
        folderErrors.push(...found.errors.map((error) => ({ ...error, file: join(path, error.file) })))
        for (const file of found.files) await read(join(path, file.name), file.path)
      } else if (/\.ya?ml$/i.test(path)) await read(path, path)
      else
        folderErrors.push(
          errorAt(path, `a load passes over ${basename(path)}: its name ends in neither .yml nor .yaml`),
        )
    } catch (error) {
      folderErrors.push(errorAt(path, messageOf(error)))
    }
  }
  const { placed, errors } = collectForms(contents, folderErrors)
  return { forms: placed, errors, notes }
}

function errorAt(file: string, reason: string): FormError {
  return { file, line: null, form: null, reason }
}
