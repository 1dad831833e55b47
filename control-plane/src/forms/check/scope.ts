import type { Field } from '../fields/field.js'
import type { PathStep } from '../fields/model-path.js'
import { columnOf } from '../values/choices.js'
import { type Resolved } from '../values/placeholders.js'
import { outputOf, putField } from '../values/extravars.js'
import { type PlainObject, isPlainObject, partOf } from '../values/plain.js'
import { type FieldValue, HIDDEN, waitingFor } from './field-value.js'
import { type CheckContext, type Parent } from './context.js'
import { type FieldFinding } from './report.js'
import type { Scope } from './scope-type.js'
import { brokenRules } from './rules.js'
import { type DependencyLookup, isVisible } from './visible.js'
import { readField } from './read-field.js'

/** @see Scope */
export function createScope(fields: readonly Field[], sent: PlainObject, context: CheckContext, parent: Parent): Scope {
  const byName = new Map(fields.map((field) => [field.name, field]))
  const values = new Map<string, FieldValue | 'in progress'>()
  const found = new Map<string, FieldFinding>()

  function valueOf(field: Field): FieldValue {
    const known = values.get(field.name)
    if (known === 'in progress') return waitingFor('its value hangs on itself')
    if (known) return known
    values.set(field.name, 'in progress')
    const visible = isVisible(field, lookup)
    const value =
      visible === null ? waitingFor('whether it is shown cannot be known') : visible ? readField(field, scope) : HIDDEN
    values.set(field.name, value)
    if (field.type === 'password') notePassword(value.value)
    return value
  }

  function notePassword(value: unknown): void {
    if (typeof value === 'number' || (typeof value === 'string' && value !== '')) context.passwords.add(String(value))
  }

  function findingOf(field: Field): FieldFinding {
    const known = found.get(field.name)
    if (known) return known
    const state = valueOf(field)
    const finding: FieldFinding = {
      name: field.name,
      errors: state.isHidden || state.waiting !== null ? [] : errorsOf(field, state),
      waiting: state.waiting,
      rowErrors: state.rowErrors,
      isUploadRefused: state.isUploadRefused,
    }
    // A field that was asked for during its own evaluation has no final value yet.
    if (values.get(field.name) === state) found.set(field.name, finding)
    return finding
  }

  function errorsOf(field: Field, state: FieldValue) {
    if (state.errors.length > 0) return state.errors
    if (field.rules.regex !== null) context.at(field.name)
    return brokenRules(field, state.value, {
      evaluator: context.evaluator,
      resolve: (path) => resolveWith(path, false),
      labelOf: (name) => byName.get(name)?.label ?? name,
      upload: state.upload,
    })
  }

  const lookup: DependencyLookup = {
    target(name) {
      const field = byName.get(name) ?? null
      if (!field) return { value: resolveWith(name.split('.'), false).value, field, isWaiting: false }
      const { value, waiting } = valueOf(field)
      return { value, field, isWaiting: waiting !== null }
    },
    isValid(name) {
      const field = byName.get(name)
      if (!field) return false
      const { isHidden } = valueOf(field)
      const finding = findingOf(field)
      if (finding.waiting !== null) return null
      return !isHidden && finding.errors.length === 0 && finding.rowErrors.length === 0 && !finding.isUploadRefused
    },
  }

  /** @param asPlaceholder a choice that is named without a column stands for its placeholder column */
  function resolveWith(path: readonly PathStep[], asPlaceholder: boolean): Resolved {
    const [root, ...rest] = path
    if (root === '__user__') return resolved(partOf(context.user, rest))
    if (root === '__parent__') return rest.length === 0 ? NOT_FOUND : parent.resolve(rest)
    const field = typeof root === 'string' ? byName.get(root) : undefined
    if (!field) return resolved(partOf(context.constants, path))
    const { value, waiting } = valueOf(field)
    if (waiting !== null) return NOT_FOUND
    if (rest.length > 0) return resolved(belowOf(value, rest))
    return resolved(asPlaceholder && field.type === 'enum' ? placeholderOf(field, value) : value)
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
      // Only the fields that the script names. Computing all fields here would also compute those that need this field.
      const tokens = [...script.matchAll(NAMED_OF_PARENT)].map(([token]) => token)
      const isNamed = ({ name }: Field) => tokens.some((token) => token === name || token.startsWith(`${name}-`))
      const named = fields.filter((field) => isNamed(field) && values.get(field.name) !== 'in progress')
      const above = script.includes('__parent__.__parent__') ? { __parent__: parent.object(script) } : {}
      return { ...above, ...Object.fromEntries(named.map((field) => [field.name, valueOf(field).value])) }
    },
    values: () => Object.fromEntries(fields.map((field) => [field.name, valueOf(field).value])),
    extravars(extravars = {}, base = []) {
      for (const field of fields) {
        if (!field.output || field.type === 'html') continue
        const { output, value } = valueOf(field)
        putField(extravars, field, output === undefined ? outputOf(field, value) : output, base)
      }
      return extravars
    },
    credentials() {
      const asking = fields.filter((field) => field.asCredential)
      const named = asking.map((field) => [field.name, outputOf(field, valueOf(field).value)] as const)
      return Object.fromEntries(named.filter(([, name]) => name !== undefined && name !== null && name !== ''))
    },
  }
  return scope
}

/** `__parent__.name` and `__parent__['name']` in a script. */
const NAMED_OF_PARENT = /(?<=__parent__\s*(?:\?\.|\.|\[\s*['"`]))[A-Za-z0-9_-]+/g

const NOT_FOUND: Resolved = { known: false, value: undefined }

function resolved(value: unknown): Resolved {
  return { known: value !== undefined, value }
}

/** `$(choices.column)` of several choices is the list of that column. */
function belowOf(value: unknown, rest: readonly PathStep[]): unknown {
  if (Array.isArray(value) && typeof rest[0] === 'string') return value.map((entry) => partOf(entry, rest))
  return partOf(value, rest)
}

function placeholderOf(field: Field, value: unknown): unknown {
  const reduce = (one: unknown) =>
    isPlainObject(one) ? columnOf(one, field.placeholderColumn ?? field.valueColumn) : one
  return Array.isArray(value) ? value.map(reduce) : reduce(value)
}
