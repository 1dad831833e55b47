import { posix } from 'node:path'
import { YamlProblem, type YamlText, problemWith, readYaml } from '../yaml-text.js'
import type { Form, FormBase, FormError } from './form.js'
import { type FormFile, formFile } from './form-schema.js'

/** A form with the line where it stands. */
export interface PlacedForm {
  readonly form: Form
  readonly file: string
  readonly line: number
}

/** What one file holds: its good forms, and why the others were left out. */
export interface ParsedFile {
  readonly forms: readonly PlacedForm[]
  readonly errors: readonly FormError[]
}

type Path = readonly (string | number)[]

/** Reads the text of a form file, one form or a list. @param file its name for people, relative to the folder */
export function parseFormFile(file: string, text: string): ParsedFile {
  const forms: PlacedForm[] = []
  const errors: FormError[] = []
  try {
    const yaml = readYaml(text)
    const entries: readonly (readonly [Path, unknown])[] = Array.isArray(yaml.value)
      ? yaml.value.map((entry: unknown, index) => [[index], entry])
      : [[[], yaml.value]]
    for (const [path, entry] of entries) {
      try {
        forms.push({ form: parseForm(entry, path, yaml), file, line: yaml.lineOf(path) })
      } catch (error) {
        if (!(error instanceof YamlProblem)) throw error
        errors.push({ file, line: error.line, form: nameOf(entry), reason: error.reason })
      }
    }
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error
    errors.push({ file, line: error.line, form: null, reason: error.reason })
  }
  return { forms, errors }
}

function parseForm(entry: unknown, path: Path, yaml: YamlText): Form {
  const problem = problemWith(formFile, entry)
  if (problem) throw new YamlProblem(yaml.lineOf([...path, ...problem.path]), problem.reason)
  const source = entry as FormFile & Readonly<Record<string, unknown>>
  const base: FormBase = {
    name: source.name,
    roles: source.roles ?? [],
    description: source.description ?? null,
    categories: source.categories ?? ['Default'],
    runner: source.runner || null,
    abortable: source.abortable ?? true,
    allowRelaunch: source.allowRelaunch ?? source.disableRelaunch !== true,
    source,
  }
  const type = source.type ?? 'ansible'
  if (type !== 'ansible') return { ...base, type }
  return { ...base, type, ...ansiblePartOf(source, (key) => yaml.lineOf([...path, key])) }
}

function ansiblePartOf(source: FormFile, lineOf: (key: string) => number) {
  const playbook = source.playbook
  if (playbook === undefined) throw new YamlProblem(lineOf('name'), 'playbook is needed in a form of type ansible')
  const playbookSubPath = source.playbookSubPath || null
  if (!staysInside(playbookSubPath ?? '.', '.') || !staysInside(playbookSubPath ?? '.', playbook)) {
    throw new YamlProblem(lineOf('playbook'), 'playbook must be a path inside the playbook folder')
  }
  const fields = source.fields ?? []
  return {
    playbook,
    playbookSubPath,
    inventory: listOf(source.inventory),
    tags: source.tags === undefined || source.tags.length === 0 ? null : listOf(source.tags).join(','),
    limit: source.limit || null,
    check: source.check ?? false,
    diff: source.diff ?? false,
    verbose: source.verbose ?? false,
    allowJinjaInExtravars: source.allowJinjaInExtravars ?? false,
    fieldNames: fields.map((field) => field.name),
    fileFields: fields.filter((field) => field.type === 'file').map((field) => field.name),
    passwordFields: fields.filter((field) => field.type === 'password').flatMap(keysOf),
  }
}

/** The keys under which a field's value can appear: its name, and the last part of each `model` path. */
function keysOf(field: NonNullable<FormFile['fields']>[number]): string[] {
  const lastParts = listOf(field.model).map((path) => (path.split('.').at(-1) ?? path).replace(/(\[\d+\])+$/, ''))
  return [field.name, ...lastParts]
}

/** Whether `path`, seen from the folder `from`, lies in the folder that both are below. */
function staysInside(from: string, path: string): boolean {
  const normal = posix.join(from, path)
  const leaves = normal === '..' || normal.startsWith('../')
  return !leaves && !posix.isAbsolute(from) && !posix.isAbsolute(path) && !normal.includes('\0')
}

function listOf(value: string | readonly string[] | undefined): string[] {
  if (value === undefined || value === '') return []
  return typeof value === 'string' ? [value] : [...value]
}

function nameOf(entry: unknown): string | null {
  if (typeof entry !== 'object' || entry === null || !('name' in entry)) return null
  return typeof entry.name === 'string' ? entry.name.slice(0, 200) : null
}
