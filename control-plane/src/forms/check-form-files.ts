import { readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { messageOf } from '../errors.js'
import { collectForms } from './collect-forms.js'
import type { FormError } from './form.js'
import { findYamlFiles } from './form-files.js'
import { type ParsedFile, type PlacedForm, parseFormFile } from './parse-form.js'

/** What a load of form files would give: the good forms, and why others would be left out. */
export interface CheckedFormFiles {
  readonly forms: readonly PlacedForm[]
  readonly errors: readonly FormError[]
}

/**
 * Reads form files as a load does, as if they were all that there are. Of a folder all form files below it are read.
 * Never throws: what cannot be read is an error among the others.
 * @param paths files and folders, in the order in which forms count
 */
export async function checkFormFiles(paths: readonly string[]): Promise<CheckedFormFiles> {
  const contents: ParsedFile[] = []
  const folderErrors: FormError[] = []
  for (const path of paths) {
    try {
      if ((await stat(path)).isDirectory()) {
        const found = await findYamlFiles(path, { noun: 'form' })
        folderErrors.push(...found.errors.map((error) => ({ ...error, file: join(path, error.file) })))
        for (const file of found.files) contents.push(await parsed(join(path, file.name), file.path))
      } else if (/\.ya?ml$/i.test(path)) contents.push(await parsed(path, path))
      else
        folderErrors.push(
          errorAt(path, `a load passes over ${basename(path)}: its name ends in neither .yml nor .yaml`),
        )
    } catch (error) {
      folderErrors.push(errorAt(path, messageOf(error)))
    }
  }
  const { placed, errors } = collectForms(contents, folderErrors)
  return { forms: placed, errors }
}

async function parsed(name: string, path: string): Promise<ParsedFile> {
  return parseFormFile(name, await readFile(path, 'utf8'))
}

function errorAt(file: string, reason: string): FormError {
  return { file, line: null, form: null, reason }
}
