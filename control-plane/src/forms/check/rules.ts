import type { Limit, Field } from '../fields/field.js'
import { parsePath } from '../fields/model-path.js'
import type { Evaluator } from './evaluator.js'
import { isSpecialChoice } from '../values/choices.js'
import { type Resolve, fillText, textOf } from '../values/placeholders.js'
import { isBlank, isEmpty, isSame } from '../values/plain.js'
import type { ValidationError } from './report.js'
import type { VerifiedUpload } from '../values/uploads.js'

/** The facts that rules may use in addition to the value. */
export interface RuleContext {
  readonly evaluator: Evaluator
  /** The complete value of another field. */
  readonly resolve: Resolve
  readonly labelOf: (field: string) => string
  readonly upload: VerifiedUpload | null
}

type Rule = (field: Field, value: unknown, context: RuleContext) => string | null

/** In the order in which they are checked and reported. All except `required` accept an empty value. */
const RULES: readonly (readonly [string, Rule])[] = [
  ['required', required],
  ['minSize', size('minSize', 'at least', (bytes, bound) => bytes >= bound)],
  ['maxSize', size('maxSize', 'at most', (bytes, bound) => bytes <= bound)],
  ['minValue', amount('minValue', 'at least', (value, bound) => value >= bound)],
  ['maxValue', amount('maxValue', 'at most', (value, bound) => value <= bound)],
  ['minLength', length('minLength', 'at least', (value, bound) => value >= bound)],
  ['maxLength', length('maxLength', 'at most', (value, bound) => value <= bound)],
  ['regex', regex],
  ['validIf', comparison('validIf', (_, other) => Boolean(other))],
  ['validIfNot', comparison('validIfNot', (_, other) => !other)],
  ['notIn', comparison('notIn', (value, list) => Array.isArray(list) && !includes(list, value))],
  ['in', comparison('in', (value, list) => Array.isArray(list) && includesAll(list, value))],
  ['sameAs', sameAs],
]

/**
 * The rules of a field that its value breaks, in their order. Call it for a field that is shown and whose value could
 * be read.
 */
export function brokenRules(field: Field, value: unknown, context: RuleContext): ValidationError[] {
  const broken: ValidationError[] = []
  for (const [type, rule] of RULES) {
    const description = rule(field, value, context)
    if (description !== null) broken.push({ type, description: fillText(description, context.resolve).text })
  }
  return broken
}

function required(field: Field, value: unknown): string | null {
  if (!field.rules.required || field.type === 'html') return null
  return isGiven(field, value) ? null : `${field.label} is required`
}

function isGiven(field: Field, value: unknown): boolean {
  if (field.type === 'checkbox') return value === true
  if (field.type === 'yaml') return value !== undefined && value !== null
  if (field.type === 'enum' || field.type === 'expression') return !isBlank(value) && !isSpecialChoice(value)
  return !isBlank(value)
}

/** A limit that cannot be known, or that is not a number, is not applied. */
function boundOf(bound: Limit | null, resolve: Resolve): number | null {
  if (bound === null) return null
  if (typeof bound === 'number') return bound
  const filled = fillText(bound, resolve)
  if (!filled.complete || filled.text.trim() === '') return null
  const value = Number(filled.text)
  return Number.isNaN(value) ? null : value
}

/** An object is not a number. Its `valueOf` is not called, because the client may have sent any object. */
function amountOf(value: unknown): number {
  return typeof value === 'object' ? Number.NaN : Number(value)
}

function size(name: 'minSize' | 'maxSize', words: string, holds: (bytes: number, bound: number) => boolean): Rule {
  return (field, _value, { upload, resolve }) => {
    const bound = boundOf(field.rules[name], resolve)
    if (bound === null || upload === null || holds(upload.size, bound)) return null
    return `${field.label} must be ${words} ${inWords(bound)}, it is ${inWords(upload.size)}`
  }
}

/** A number of bytes as text for people. */
function inWords(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let amount = bytes
  let unit = 0
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024
    unit += 1
  }
  return `${Number(amount.toFixed(2))} ${units[unit]}`
}

function amount(name: 'minValue' | 'maxValue', words: string, holds: (value: number, bound: number) => boolean): Rule {
  return (field, value, { resolve }) => {
    const bound = boundOf(field.rules[name], resolve)
    if (bound === null || isEmpty(value) || holds(amountOf(value), bound)) return null
    return `${field.label} must be ${words} ${bound}`
  }
}

function length(
  name: 'minLength' | 'maxLength',
  words: string,
  holds: (value: number, bound: number) => boolean,
): Rule {
  return (field, value, { resolve }) => {
    const bound = boundOf(field.rules[name], resolve)
    if (bound === null || isEmpty(value)) return null
    const actual = Array.isArray(value) ? value.length : textOf(value).length
    if (holds(actual, bound)) return null
    return `${field.label} must be ${words} ${bound} characters long`
  }
}

function regex(field: Field, value: unknown, { evaluator, upload }: RuleContext): string | null {
  const rule = field.rules.regex
  if (rule === null || isEmpty(value)) return null
  const text = upload !== null ? upload.originalname : textOf(value)
  const matched = evaluator.matches(rule.expression, text)
  if (!matched.ok) return `${field.label} could not be compared with its pattern: ${matched.reason}`
  return matched.value === true ? null : (rule.description ?? `${field.label} does not have the expected form`)
}

function comparison(
  name: 'validIf' | 'validIfNot' | 'in' | 'notIn',
  holds: (value: unknown, other: unknown) => boolean,
): Rule {
  return (field, value, { resolve }) => {
    const rule = field.rules[name]
    if (rule === null || isEmpty(value) || holds(value, valueAt(rule.field, resolve))) return null
    return rule.description ?? `${field.label} is not accepted (${name} ${rule.field})`
  }
}

/** Loosely equal, as in the pages of the product family: 5 and "5" are the same. */
function sameAs(field: Field, value: unknown, { resolve, labelOf }: RuleContext): string | null {
  const name = field.rules.sameAs
  if (name === null || isEmpty(value)) return null
  const other = valueAt(name, resolve)
  const isDefined = other !== undefined && other !== null
  if (isDefined && (isSame(value, other) || textOf(value) === textOf(other))) return null
  return `Must match the field '${labelOf(name)}'`
}

function valueAt(path: string, resolve: Resolve): unknown {
  const steps = parsePath(path)
  return steps === null ? undefined : resolve(steps).value
}

function includes(list: readonly unknown[], value: unknown): boolean {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return values.some((one) => list.some((entry) => isSame(entry, one)))
}

function includesAll(list: readonly unknown[], value: unknown): boolean {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return values.every((one) => list.some((entry) => isSame(entry, one)))
}
