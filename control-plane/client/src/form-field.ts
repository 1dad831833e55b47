import { writeJson } from './json.js'

/** A field of a form as a page needs it. It is made from the definition in the form's file. */
export interface FormField {
  readonly name: string
  readonly type: string
  readonly label: string
  readonly help: string | null
  readonly group: string | null
  readonly required: boolean
  readonly hidden: boolean
  readonly multiple: boolean
  readonly placeholder: string | null
  /** Undefined: none. */
  readonly default: unknown
  /** The choices of an enum or radio; null: the control plane computes them. */
  readonly choices: readonly Choice[] | null
  /** How one of the form's values is shown and sent. */
  readonly choiceOf: (value: unknown) => Choice
  /** The control plane computes the value; nobody types it. A computed field that is `editable` is none of these. */
  readonly isComputed: boolean
  readonly dateType: string
  readonly content: string
  /** Of a list: the form of its rows. */
  readonly subform: string | null
  readonly minValue: number | null
  readonly maxValue: number | null
  readonly dependencies: readonly Dependency[] | null
  readonly dependencyFn: string
}

/** One of the values of a field. */
export interface Choice {
  readonly label: string
  readonly value: unknown
}

interface Dependency {
  readonly name: string
  readonly values?: readonly unknown[]
  readonly isValid?: boolean
}

type Source = Readonly<Record<string, unknown>>

const textOf = (value: unknown): string | null =>
  typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : null

const isObject = (value: unknown): value is Source =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Older names of types. */
const SAME_AS: Readonly<Record<string, string>> = {
  query: 'enum',
  table: 'list',
  local: 'expression',
  local_out: 'expression',
  credential: 'expression',
}

/** Types of fields that are never shown, although they have a value. */
const NEVER_SHOWN: readonly string[] = ['local', 'local_out', 'credential']

/** Fields whose source gives the choices, and not the value. */
const CHOSEN: readonly string[] = ['enum', 'radio', 'list']

/** Reads the fields of a form. What is no field is left out. */
export function readFields(fields: readonly unknown[]): FormField[] {
  return fields.filter(isObject).flatMap((field) => {
    const name = textOf(field.name)
    return name === null ? [] : [readField(name, field)]
  })
}

function readField(name: string, field: Source): FormField {
  const given = textOf(field.type) ?? 'text'
  const type = SAME_AS[given] ?? given
  const hasSource = field.expression !== undefined || field.query !== undefined
  const number = (value: unknown) => (typeof value === 'number' ? value : null)
  return {
    name,
    type,
    label: textOf(field.label) ?? name,
    help: textOf(field.help),
    group: textOf(field.group),
    required: field.required === true,
    hidden: field.hide === true || NEVER_SHOWN.includes(given),
    multiple: field.multiple === true,
    placeholder: textOf(field.placeholder),
    default: field.default,
    choices: Array.isArray(field.values) ? field.values.map((value: unknown) => choiceOf(value, field)) : null,
    choiceOf: (value) => choiceOf(value, field),
    isComputed: field.editable !== true && (type === 'expression' || (hasSource && !CHOSEN.includes(type))),
    dateType: textOf(field.dateType) ?? 'datetime',
    content: textOf(field.value) ?? textOf(field.expression) ?? textOf(field.default) ?? '',
    subform: textOf(field.subform),
    minValue: number(field.minValue),
    maxValue: number(field.maxValue),
    dependencies: Array.isArray(field.dependencies)
      ? field.dependencies.filter(isObject).map((one) => one as unknown as Dependency)
      : null,
    dependencyFn: textOf(field.dependencyFn) ?? 'and',
  }
}

/** What people read for a value. A list or an object has no word of its own. */
function labelOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return textOf(value) ?? writeJson(value)
}

function choiceOf(value: unknown, field: Source): Choice {
  if (!isObject(value)) return { label: labelOf(value), value }
  const column = textOf(field.valueColumn)
  const label = textOf(field.placeholderColumn) ?? column
  const first = Object.values(value)[0]
  return {
    label: labelOf(label !== null && label in value ? value[label] : (value.label ?? value.name ?? first)),
    value:
      field.outputObject === true ? value : column !== null && column in value ? value[column] : (value.value ?? first),
  }
}

/**
 * Whether a field is shown for these values, as far as a page can tell. A condition on whether another field is valid is
 * for the control plane alone; such a field is shown.
 */
export function isShown(field: FormField, values: Readonly<Record<string, unknown>>): boolean {
  if (field.hidden) return false
  if (field.dependencies === null) return true
  const met = field.dependencies.map(({ name, values: wanted }) => {
    if (!wanted) return true
    const isInverted = name.startsWith('!')
    const value = values[isInverted ? name.slice(1) : name]
    const isAmong = wanted.some((one) => one === value || String(one) === String(value))
    return isInverted ? !isAmong : isAmong
  })
  const some = met.some(Boolean)
  const every = met.every(Boolean)
  switch (field.dependencyFn) {
    case 'or':
      return some
    case 'nand':
      return !every
    case 'nor':
      return !some
    default:
      return every
  }
}
