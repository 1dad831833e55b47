import type { Field } from '../fields/field.js'
import type { PathStep } from '../fields/model-path.js'
import { columnOf, inColumn } from '../values/choices.js'
import { type Resolved } from '../values/placeholders.js'
import { type PlainObject, isPlainObject, partOf } from '../values/plain.js'
import type { Origin } from '../../sources/origins.js'
import { type FieldValue, HIDDEN, waitingFor } from './field-value.js'
import { type CheckContext, MAX_CHAIN, type ParentValues } from './context.js'
import { createFindings } from './findings.js'
import type { FieldFinding } from './report.js'
import { createOutputs } from './outputs.js'
import type { Scope } from './scope-type.js'
import { type DependencyLookup, isVisible } from './visible.js'
import { readField } from './read-field.js'

/** @see Scope */
export function createScope(
  fields: readonly Field[],
  sent: PlainObject,
  context: CheckContext,
  parent: ParentValues,
): Scope {
  const byName = new Map(fields.map((field) => [field.name, field]))
  const values = new Map<string, FieldValue | 'in progress'>()

  function valueOf(field: Field): FieldValue {
    const known = values.get(field.name)
    if (known === 'in progress') return waitingFor('its value hangs on itself')
    if (known) return known
    const { chain } = context
    if (chain.length >= MAX_CHAIN) {
      values.set(field.name, BEHIND_TOO_MANY)
      return BEHIND_TOO_MANY
    }
    values.set(field.name, 'in progress')
    chain.length += 1
    const visible = isVisible(field, lookup)
    const value = visible === null ? waitsToBeShown(field, resolveWith) : visible ? readField(field, scope) : HIDDEN
    chain.length -= 1
    values.set(field.name, value)
    if (field.type === 'password') notePassword(context, value.value)
    return value
  }

  const findingOf = createFindings({
    context,
    valueOf,
    isFinal: (field, value) => values.get(field.name) === value,
    resolve: (path) => resolveWith(path, false),
    labelOf: (name) => byName.get(name)?.label ?? name,
  })

  const lookup: DependencyLookup = {
    target(name) {
      const field = byName.get(name) ?? null
      if (!field) return { value: resolveWith(name.split('.'), false).value, field, isWaiting: false }
      const { value, waiting } = valueOf(field)
      return { value, field, isWaiting: waiting !== null }
    },
    isValid(name) {
      const field = byName.get(name)
      return field ? isValid(valueOf(field), findingOf(field)) : false
    },
  }

  /** @param asPlaceholder a choice that is named without a column stands for its placeholder column */
  function resolveWith(path: readonly PathStep[], asPlaceholder: boolean): Resolved {
    const [root, ...rest] = path
    if (root === '__user__') return resolved(partOf(context.user, rest))
    if (root === '__parent__') return rest.length === 0 ? NOT_FOUND : parent.resolve(rest)
    const field = typeof root === 'string' ? byName.get(root) : undefined
    if (!field) return constantOrSent(path, context)
    return partOfField(field, valueOf(field), rest, asPlaceholder)
  }

  const scope: Scope = {
    fields,
    context,
    parent,
    sent,
    open: createScope,
    valueOf,
    findings: () => fields.map(findingOf),
    resolve: (path) => resolveWith(path, true),
    object(script) {
      const named = namedIn(script, fields).filter((field) => values.get(field.name) !== 'in progress')
      const above = script.includes('__parent__.__parent__') ? { __parent__: parent.object(script) } : {}
      return { ...above, ...Object.fromEntries(named.map((field) => [field.name, valueOf(field).value])) }
    },
    ...createOutputs(fields, valueOf),
  }
  return scope
}

/** It stays so. Otherwise the field would be good in the end, and only the fields before it would have no value. */
const BEHIND_TOO_MANY = waitingFor(`it is behind more than ${MAX_CHAIN} fields that need each other`)

/** Null: it cannot be known yet. */
function isValid(
  { isHidden }: FieldValue,
  { waiting, errors, rowErrors, uploadProblem }: FieldFinding,
): boolean | null {
  if (waiting !== null) return null
  return !isHidden && errors.length === 0 && rowErrors.length === 0 && uploadProblem === null
}

/** A field of which it cannot be known whether it is shown. Maybe only the answer of a source is missing. */
function waitsToBeShown(
  { dependencies }: Field,
  resolve: (path: readonly PathStep[], asPlaceholder: boolean) => Resolved,
): FieldValue {
  const isAsking = dependencies?.some(({ on }) => resolve(on.split('.'), false).isAsking === true)
  return waitingFor('whether it is shown cannot be known', isAsking)
}

/** The fields that a script names. Computing all fields would also compute those that need this field. */
function namedIn(script: string, fields: readonly Field[]): Field[] {
  const tokens = [...script.matchAll(NAMED_OF_PARENT)].map(([token]) => token)
  return fields.filter(({ name }) => tokens.some((token) => token === name || token.startsWith(`${name}-`)))
}

/** `__parent__.name` and `__parent__['name']` in a script. */
const NAMED_OF_PARENT = /(?<=__parent__\s*(?:\?\.)?\[\s*['"`])[A-Za-z0-9_ -]+|(?<=__parent__\s*\??\.)[A-Za-z0-9_-]+/g

const NOT_FOUND: Resolved = { known: false, value: undefined }

const NOT_ANSWERED: Resolved = { ...NOT_FOUND, isAsking: true }

const ABSENT: Resolved = { ...NOT_FOUND, isAbsent: true }

function partOfField(
  field: Field,
  { value, waiting, isAsking, isHidden, isAbsent, origin }: FieldValue,
  rest: readonly PathStep[],
  asPlaceholder: boolean,
): Resolved {
  if (waiting !== null) return isAsking ? NOT_ANSWERED : NOT_FOUND
  if (value === undefined && (isHidden || isAbsent)) return ABSENT
  if (rest.length > 0) return resolved(belowOf(field, value, rest), origin)
  return resolved(asPlaceholder && field.type === 'enum' ? placeholderOf(field, value) : value, origin)
}

function resolved(value: unknown, origin?: Origin): Resolved {
  return { known: value !== undefined, value, ...(origin === undefined ? {} : { origin }) }
}

/** A name that no field has: a value that the caller sent for a placeholder, or a constant. */
function constantOrSent(path: readonly PathStep[], { sentValues, constants }: CheckContext): Resolved {
  const [root] = path
  if (typeof root === 'string' && Object.hasOwn(sentValues, root)) return resolved(partOf(sentValues, path))
  return resolved(partOf(constants, path), 'author')
}

function notePassword({ passwords }: CheckContext, value: unknown): void {
  if (typeof value === 'number' || (typeof value === 'string' && value !== '')) passwords.add(String(value))
}

/** `$(choices.column)` of several choices is the list of that column. What an expression gives is read as it is. */
function belowOf(field: Field, value: unknown, rest: readonly PathStep[]): unknown {
  const [column] = rest
  if (field.type !== 'expression' && rest.length === 1 && typeof column === 'string') return inColumn(value, column)
  if (Array.isArray(value) && typeof column === 'string') return value.map((entry) => partOf(entry, rest))
  return partOf(value, rest)
}

function placeholderOf(field: Field, value: unknown): unknown {
  const reduce = (one: unknown) =>
    isPlainObject(one) ? columnOf(one, field.placeholderColumn ?? field.valueColumn) : one
  return Array.isArray(value) ? value.map(reduce) : reduce(value)
}
