import { type Field } from '../fields/field.js'
import { type PathStep, placesOf } from '../fields/model-path.js'
import { columnOf } from './choices.js'
import { isPlainObject } from './plain.js'

type Container = Record<PathStep, unknown> | unknown[]

/** The types of fields whose complete value is sent, besides dates. */
const WHOLE: ReadonlySet<Field['type']> = new Set(['expression', 'file', 'list', 'yaml'])

/**
 * A field's value in the shape for the playbook: a choice is reduced to its value column, and a month counts from one.
 */
export function outputOf(field: Field, value: unknown): unknown {
  if (field.type === 'datetime') return field.dateType === 'month' ? monthOf(value) : value
  if (WHOLE.has(field.type) || field.outputObject) return value
  const reduce = (one: unknown) => (isPlainObject(one) ? columnOf(one, field.valueColumn) : one)
  return Array.isArray(value) ? value.map(reduce) : reduce(value)
}

/** The date picker counts months from zero. */
function monthOf(value: unknown): unknown {
  return isPlainObject(value) && typeof value.month === 'number' ? { ...value, month: value.month + 1 } : value
}

/**
 * Puts a field's value at the place of its `model`, or under its own name. An undefined value is left out. See {@link
 * placesOf}.
 */
export function putField(
  into: Record<string, unknown>,
  field: Field,
  value: unknown,
  base: readonly PathStep[] = [],
): void {
  if (value === undefined) return
  for (const path of placesOf(field, base)) putAt(into, path, value)
}

/**
 * Puts a value at the end of a path, and makes objects and lists on the way. Objects are merged at every depth. Other
 * values are overwritten. If there is a single value on the way, nothing is put.
 */
export function putAt(into: Record<string, unknown>, path: readonly PathStep[], value: unknown): void {
  let container: Container = into
  for (const [index, step] of path.entries()) {
    if (Array.isArray(container) !== (typeof step === 'number')) return
    const next = path[index + 1]
    const existing: unknown = Object.hasOwn(container, step)
      ? (container as Record<PathStep, unknown>)[step]
      : undefined
    if (next === undefined) {
      set(container, step, merged(existing, value))
      return
    }
    if (existing !== undefined && existing !== null && typeof existing !== 'object') return
    const below: Container = isContainer(existing) ? existing : typeof next === 'number' ? [] : {}
    if (below !== existing) set(container, step, below)
    container = below
  }
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null
}

function merged(existing: unknown, value: unknown): unknown {
  if (!isPlainObject(existing) || !isPlainObject(value)) return copyOf(value)
  const result: Record<string, unknown> = { ...existing }
  for (const [key, entry] of Object.entries(value)) {
    set(result, key, merged(Object.hasOwn(result, key) ? result[key] : undefined, entry))
  }
  return result
}

/** The values of two paths must not share objects. */
function copyOf(value: unknown): unknown {
  return isContainer(value) ? structuredClone(value) : value
}

/** This also works for keys such as `__proto__`, for which a plain assignment means something else. */
function set(container: Container, step: PathStep, value: unknown): void {
  if (Array.isArray(container)) {
    // A list without holes, because JSON has none.
    while (typeof step === 'number' && container.length < step) container.push(null)
  }
  Object.defineProperty(container, step, { value, writable: true, enumerable: true, configurable: true })
}
