import { vaultNeedsOf } from '../../credentials/job/vault-needs.js'
import { YamlProblem, type YamlText, problemWith, readYaml } from '../../texts/yaml-text.js'
import { FieldProblem, TABLE_WAY, parseField, parseWizardStep } from '../fields/parse-field.js'
import type { Form, FormBase, FormError } from '../form.js'
import { type FormFile, formFile } from './form-schema.js'
import { listedInventories } from './listed-inventories.js'
import { LimitProblem, concurrencyOf, timeoutOf } from './limits.js'
import { parseNotifications } from './notifications.js'
import { isSingleFile, singleFileReason } from './single-file.js'
import { readApproval, textList, playbookFilesOf, playbookSettingsOf } from './playbook.js'
import { stepParser } from './step.js'
import { type TableRow, withoutTables } from './table-fields.js'
import { passwordKeys } from '../subforms.js'

/** A form with the line where it stands. */
export interface PlacedForm {
  readonly form: Form
  readonly file: string
  readonly line: number
}

/** The content of one file: its correct forms, and why others were left out. */
export interface ParsedFile {
  readonly forms: readonly PlacedForm[]
  readonly errors: readonly FormError[]
}

/** Most forms of one file. */
const MAX_FORMS = 5000
/** Most mistakes of one file that are told. Each of them is written to the log, too. */
const MAX_ERRORS = 100

type Path = readonly (string | number)[]
type LineOf = (...keys: (string | number)[]) => number
type FormInFile = FormFile & Readonly<Record<string, unknown>>

/** Reads the text of a form file, one form or a list. @param file its name for people, relative to the folder */
export function parseFormFile(file: string, text: string, read = () => readYaml(text)): ParsedFile {
  const forms: PlacedForm[] = []
  const errors: FormError[] = []
  let more = 0
  try {
    const yaml = read()
    if (isSingleFile(yaml.value)) throw new YamlProblem(yaml.lineOf(['forms']), singleFileReason(file))
    const entries: readonly (readonly [Path, unknown])[] = Array.isArray(yaml.value)
      ? yaml.value.map((entry: unknown, index) => [[index], entry])
      : [[[], yaml.value]]
    if (entries.length > MAX_FORMS)
      throw new YamlProblem(1, `a file may have ${MAX_FORMS} forms, and has ${entries.length}`)
    for (const [path, entry] of entries) {
      try {
        const line = yaml.lineOf(path)
        forms.push(...parseForm(entry, path, yaml).map((form) => ({ form, file, line })))
      } catch (error) {
        if (!(error instanceof YamlProblem)) throw error
        if (errors.length === MAX_ERRORS) more += 1
        else errors.push({ file, line: error.line, form: nameOf(entry), reason: error.reason })
      }
    }
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error
    errors.push({ file, line: error.line, form: null, reason: error.reason })
  }
  if (more > 0) errors.push({ file, line: null, form: null, reason: `there are ${more} more mistakes in this file` })
  return { forms, errors }
}

/** A form, and a subform for each table that it has. */
function parseForm(entry: unknown, path: Path, yaml: YamlText): Form[] {
  const problem = problemWith(formFile, entry)
  if (problem) throw new YamlProblem(yaml.lineOf([...path, ...problem.path]), problem.reason)
  const given = entry as FormInFile
  const lineOf = (...keys: (string | number)[]) => yaml.lineOf([...path, ...keys])
  const { fields, rows } = withoutTables(given.name, given.fields ?? [])
  const subforms = rows.map((row) => subformOf(row, lineOf))
  return [formOf(rows.length > 0 ? { ...given, fields: [...fields] } : given, lineOf), ...subforms]
}

/** The subform for the rows of a table. */
function subformOf({ index, name, columns }: TableRow, lineOf: LineOf): Form {
  try {
    // A mistake in a column is told where the column stands.
    const below: LineOf = (key, ...keys) => lineOf('fields', index, key === 'fields' ? 'tableFields' : 'name', ...keys)
    return formOf({ name, type: 'subform', fields: [...columns] }, below)
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error
    throw new YamlProblem(error.line, `fields.${index} ${error.reason.replace(/^fields/, 'tableFields')}: ${TABLE_WAY}`)
  }
}

function formOf(source: FormInFile, lineOf: LineOf): Form {
  const fields = parseParts(source.fields ?? [], 'fields', parseField, lineOf)
  const wizard = parseParts(source.wizard ?? [], 'wizard', parseWizardStep, lineOf)
  const base: FormBase = {
    name: source.name,
    roles: source.roles ?? [],
    description: source.description ?? null,
    categories: source.categories ?? ['Default'],
    runner: source.runner || null,
    abortable: source.abortable ?? true,
    allowRelaunch: source.allowRelaunch ?? source.disableRelaunch !== true,
    ...limitsOf(source, lineOf),
    fields,
    wizard,
    launchValidation: source.launchValidation ?? null,
    userExtravars: userExtravarsOf(source.userExtravars),
    varsFiles: source.varsFiles ?? [],
    approval: readApproval(source.approval),
    credentials: source.credentials ?? {},
    ansibleCredentials: source.ansibleCredentials || null,
    vaultCredentials: vaultNeedsOf(source.vaultCredentials),
    passwordFields: passwordKeys({ fields }, {}),
    source,
  }
  const type = source.type ?? 'ansible'
  if (type === 'multistep') return multistepOf(base, source, lineOf)
  if (type === 'workflow') return workflowOf(base, source, lineOf)
  if (type !== 'ansible') return { ...base, type }
  try {
    const settings = playbookSettingsOf(source, 'in a form of type ansible')
    return { ...base, type, ...settings, listedInventories: listedInventories(fields) }
  } catch (error) {
    throw atLine(error, lineOf)
  }
}

function limitsOf(
  { timeout, concurrency, notifications }: FormFile,
  lineOf: LineOf,
): Pick<FormBase, 'timeoutMs' | 'concurrency' | 'notifications'> {
  try {
    return {
      timeoutMs: timeoutOf(timeout),
      concurrency: concurrencyOf(concurrency),
      notifications: parseNotifications(notifications),
    }
  } catch (error) {
    throw error instanceof LimitProblem ? new YamlProblem(lineOf(...error.path), error.reason) : error
  }
}

function atLine(error: unknown, lineOf: LineOf): unknown {
  return error instanceof FieldProblem ? new YamlProblem(lineOf(error.key), error.reason) : error
}

function multistepOf(base: FormBase, source: FormFile, lineOf: LineOf): Form {
  if (source.steps === undefined || source.steps.length === 0) {
    throw new YamlProblem(lineOf(source.steps ? 'steps' : 'name'), 'steps are needed in a form of type multistep')
  }
  const steps = parseParts(source.steps, 'steps', stepParser(source, listedInventories(base.fields)), lineOf)
  // Constants belong to the form, also if a step names their files.
  const varsFiles = [...new Set([...base.varsFiles, ...source.steps.flatMap((step) => step.varsFiles ?? [])])]
  return { ...base, type: 'multistep', steps, varsFiles }
}

function workflowOf(base: FormBase, source: FormFile, lineOf: LineOf): Form {
  const { workflow, verbose = false, keepExtravars = false, allowJinjaInExtravars = false } = source
  if (workflow === undefined) throw new YamlProblem(lineOf('name'), 'workflow is needed in a form of type workflow')
  try {
    const playbookFiles = playbookFilesOf(source)
    return { ...base, type: 'workflow', workflow, verbose, keepExtravars, allowJinjaInExtravars, playbookFiles }
  } catch (error) {
    throw atLine(error, lineOf)
  }
}

/** The fields or steps of a form. Each must have a different name. */
function parseParts<InFile extends object, Part extends { readonly name: string }>(
  entries: readonly InFile[],
  key: string,
  parse: (entry: InFile) => Part,
  lineOf: LineOf,
): Part[] {
  const seen = new Set<string>()
  return entries.map((entry, index) => {
    try {
      const part = parse(entry)
      if (seen.has(part.name)) throw new FieldProblem('name', `there already is one named ${part.name}`)
      seen.add(part.name)
      return part
    } catch (error) {
      if (!(error instanceof FieldProblem)) throw error
      throw new YamlProblem(lineOf(key, index, error.key), `${key}.${index} ${error.reason}`)
    }
  })
}

/** `all` (or no value), `none`, or the keys with commas between them. */
function userExtravarsOf(given: FormFile['userExtravars']): string[] | null {
  const keys = textList(given).flatMap((text) => text.split(',').map((key) => key.trim()))
  const named = keys.filter((key) => key !== '')
  if (named.length === 0 || named.includes('all')) return null
  return named.includes('none') ? [] : named
}

function nameOf(entry: unknown): string | null {
  if (typeof entry !== 'object' || entry === null || !('name' in entry)) return null
  return typeof entry.name === 'string' ? entry.name.slice(0, 200) : null
}
