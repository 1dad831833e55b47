import type { Static } from 'typebox'
import { messageOf } from '../../errors.js'
import { readPattern } from '../../texts/pattern-text.js'
import type { Dependency, Field, FieldSource, FieldType, RowMarkers, WizardStep } from './field.js'
import type { FieldFile, WizardStepFile } from './field-schema.js'
import { UNSAFE_KEYS, parseModel, parsePath } from './model-path.js'
import { ASKING_FUNCTIONS, SERVER_FUNCTIONS } from './server-functions.js'

/** A field as a form file has it. */
export type FieldInFile = Static<typeof FieldFile>
type StepInFile = Static<typeof WizardStepFile>

/** What to do about a table that does not become a list. */
export const TABLE_WAY =
  'make its columns the fields of a form of type subform, and name that as subform of a field of type list'

/** A mistake in a field that the schema cannot find; `key` is its place. */
export class FieldProblem extends Error {
  override readonly name = 'FieldProblem'

  constructor(
    readonly key: string,
    readonly reason: string,
  ) {
    super(reason)
  }
}

/**
 * Converts a field of a file to the form that launches work with.
 * @throws FieldProblem
 */
export function parseField(file: FieldInFile): Field {
  if (UNSAFE_KEYS.has(file.name)) throw new FieldProblem('name', `name cannot be ${file.name}`)
  const alias = file.type === 'local' || file.type === 'local_out' || file.type === 'credential' ? file.type : null
  const type: FieldType = alias !== null ? 'expression' : typeOf(file)
  const label = file.label || file.name
  checkPattern(file)
  return {
    name: file.name,
    type,
    label,
    source: sourceOf(file, type, alias !== null || file.runLocal === true),
    ...keepOf(file),
    editable: file.editable ?? false,
    dependencies: file.dependencies?.map(dependencyOf) ?? null,
    dependencyFn: file.dependencyFn ?? 'and',
    ignoreIncomplete: file.ignoreIncomplete ?? false,
    rules: rulesOf(file),
    ...(file.default === undefined ? {} : { default: file.default }),
    evalDefault: file.evalDefault ?? false,
    output: file.output ?? !(file.noOutput === true || alias === 'local'),
    model: modelOf(file.model),
    asCredential: file.asCredential ?? alias === 'credential',
    multiple: file.multiple ?? (file.horizontal !== undefined && file.horizontal !== false),
    valueColumn: file.valueColumn || null,
    placeholderColumn: file.placeholderColumn || null,
    outputObject: file.outputObject ?? false,
    dateType: file.dateType ?? null,
    yamlError: file.yamlError?.description ?? null,
    subform: subformOf(file, type),
    markers: markersOf(file),
  }
}

/**
 * The current name of a field type.
 * @throws FieldProblem for a table without columns. One with columns was made a list before
 */
function typeOf(file: FieldInFile): FieldType {
  if (file.type === 'query') return 'enum'
  if (file.type !== 'table') return (file.type ?? 'text') as FieldType
  if (file.subform) return 'list'
  throw new FieldProblem('type', `type is "table", but it has no tableFields: ${TABLE_WAY}`)
}

function patternOf(given: FieldInFile['regex']): Field['rules']['regex'] {
  if (given === undefined || given === '') return null
  if (typeof given === 'string') return { expression: given, description: null }
  return { expression: given.expression, description: given.description ?? null }
}

/** @throws FieldProblem */
export function parseWizardStep(file: StepInFile): WizardStep {
  const name = file.name || file.subform
  if (UNSAFE_KEYS.has(name)) throw new FieldProblem('name', `name cannot be ${name}`)
  const defaultModel = file.defaultModel || null
  if (defaultModel !== null && parsePath(defaultModel) === null) {
    throw new FieldProblem('defaultModel', 'defaultModel must be a dot path such as vm.disk')
  }
  return { name, subform: file.subform, defaultModel, when: file.when || null, optional: file.optional ?? false }
}

function sourceOf(file: FieldInFile, type: FieldType, isLocal: boolean): FieldSource {
  const { values, expression, query } = file
  if (type === 'radio' || type === 'enum') {
    if (values !== undefined) return { kind: 'constant', value: values }
    if (type === 'radio') throw new FieldProblem('name', 'a radio field needs values')
    if (expression === undefined && query === undefined) {
      throw new FieldProblem('name', 'an enum field needs values, an expression or a query')
    }
  }
  if (type === 'expression') {
    if (file.value !== undefined) return { kind: 'constant', value: file.value }
    if (expression === undefined && query === undefined) {
      throw new FieldProblem('name', 'an expression field needs an expression, a value or a query')
    }
  }
  if (type !== 'expression' && type !== 'enum' && type !== 'list') return { kind: 'client' }
  if (expression !== undefined) {
    if (isLocal) return { kind: 'local', expression }
    const functions = unknownCalls(expression)
    return functions.length > 0 ? { kind: 'remote', functions } : { kind: 'server', expression, jq: jqOf(file) }
  }
  return query === undefined
    ? { kind: 'client' }
    : { kind: 'query', query, config: file.dbConfig ?? null, jq: jqOf(file) }
}

/** The functions of the product family's server that an expression calls and that do not exist here. */
function unknownCalls(expression: string): string[] {
  const known: ReadonlySet<string> = new Set([...SERVER_FUNCTIONS, ...ASKING_FUNCTIONS])
  const called = [...expression.matchAll(/(?<![\w$.])fn\s*\.\s*(\w+)/g)]
  const unknown = called.filter(([, name]) => !known.has(name ?? ''))
  return unknown.map(([all]) => all.replaceAll(/\s/g, ''))
}

function jqOf({ jq }: FieldInFile): string | null {
  if (jq === undefined || jq === null || jq === '') return null
  if (typeof jq === 'string') return jq
  throw new FieldProblem('jq', 'jq must be a filter such as .records[].name, as a text')
}

/** `cache` or `refresh`: seconds, or a text such as `5s`. `refresh: true` only shows a button on pages. */
function keepOf({ cache, refresh }: FieldInFile): { keepMs?: number } {
  const given = cache ?? refresh
  if (typeof given === 'number' && given >= 0) return { keepMs: given * 1000 }
  const [, number, unit] = typeof given === 'string' ? (/^(\d{1,6})\s*(s|m|h)?$/.exec(given.trim()) ?? []) : []
  if (number === undefined) return {}
  return { keepMs: Number(number) * (unit === 'h' ? 3_600_000 : unit === 'm' ? 60_000 : 1000) }
}

function dependencyOf(file: NonNullable<FieldInFile['dependencies']>[number]): Dependency {
  const inverted = file.name.startsWith('!')
  const on = inverted ? file.name.slice(1) : file.name
  if (file.values !== undefined) return { on, inverted, values: file.values }
  if (file.isValid !== undefined) return { on, inverted, isValid: file.isValid }
  throw new FieldProblem('dependencies', `the dependency on ${on} needs values or isValid`)
}

function rulesOf(file: FieldInFile): Field['rules'] {
  const comparison = (given: FieldInFile['in']) =>
    given ? { field: given.field, description: given.description ?? null } : null
  return {
    required: file.required ?? false,
    minSize: file.minSize ?? null,
    maxSize: file.maxSize ?? null,
    minValue: file.minValue ?? null,
    maxValue: file.maxValue ?? null,
    minLength: file.minLength ?? null,
    maxLength: file.maxLength ?? null,
    regex: patternOf(file.regex),
    validIf: comparison(file.validIf),
    validIfNot: comparison(file.validIfNot),
    notIn: comparison(file.notIn),
    in: comparison(file.in),
    sameAs: file.sameAs ?? null,
  }
}

function checkPattern(file: FieldInFile): void {
  const pattern = patternOf(file.regex)
  if (pattern === null) return
  try {
    readPattern(pattern.expression)
  } catch (error) {
    throw new FieldProblem('regex', `regex: ${messageOf(error).slice(0, 300)}`)
  }
}

function modelOf(model: FieldInFile['model']): string[] {
  const paths = (typeof model === 'string' ? [model] : (model ?? [])).filter((path) => path !== '')
  for (const path of paths) {
    if (parseModel(path) === null) {
      const shown = JSON.stringify(path.slice(0, 200))
      throw new FieldProblem('model', `model ${shown} must be a dot path such as vm.disks[0].name`)
    }
  }
  return paths
}

function subformOf(file: FieldInFile, type: FieldType): string | null {
  if (type !== 'list' && type !== 'yaml') return null
  if (type === 'list' && !file.subform) throw new FieldProblem('name', 'a list field needs a subform')
  return file.subform || null
}

/** If the list has its own mark for changed rows, new rows get a mark with a name of this service. */
function markersOf(file: FieldInFile): RowMarkers {
  for (const key of ['insertMarker', 'updateMarker', 'deleteMarker'] as const) {
    if (UNSAFE_KEYS.has(file[key] ?? '')) throw new FieldProblem(key, `${key} cannot be ${file[key]}`)
  }
  const tellsApart = Boolean(file.deleteMarker || file.updateMarker) || file.allowDelete === false
  return {
    insert: file.insertMarker || (tellsApart ? '__inserted__' : null),
    update: file.updateMarker || null,
    delete: file.deleteMarker || null,
  }
}
