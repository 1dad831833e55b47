import type { FormField } from './read-form.js'

/** Most options that are listed. The rest is only counted. */
const MAX_OPTIONS = 20

/** The options of a field, as one gives them on the command line. Null: the form lists none. */
export function optionsText({ values, valueColumn, type }: FormField): string | null {
  if (values === null || values.length === 0) return null
  const words = values.map((option) => optionWord(option, type === 'radio' ? 'value' : valueColumn))
  const more = words.length - MAX_OPTIONS
  return words.slice(0, MAX_OPTIONS).join(', ') + (more > 0 ? `, and ${more} more` : '')
}

/** The word for one option. An option with several columns stands for one of them: the named one, or the first. */
function optionWord(option: unknown, column: string | null): string {
  if (typeof option !== 'object' || option === null) return String(option)
  const record = option as Readonly<Record<string, unknown>>
  const value = column !== null && column in record ? record[column] : Object.values(record)[0]
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The rules for a value of the field. Null: there are none. */
export function rulesText(field: FormField): string | null {
  const { regex, sameAs, dateType, dependencies } = field
  const rules = [
    dateType,
    field.multiple ? 'several values' : null,
    rangeText(field.minValue, field.maxValue, ''),
    rangeText(field.minLength, field.maxLength, ' characters'),
    rangeText(field.minSize, field.maxSize, ' bytes'),
    regex === null ? null : typeof regex === 'string' ? `matches ${regex}` : patternText(regex),
    field.in === null ? null : `one of ${field.in.field}`,
    field.notIn === null ? null : `none of ${field.notIn.field}`,
    field.validIf === null ? null : `if ${field.validIf.field}`,
    field.validIfNot === null ? null : `if not ${field.validIfNot.field}`,
    sameAs === null ? null : `same as ${sameAs}`,
    ...(dependencies ?? []).map(conditionText),
  ].filter((rule) => rule !== null)
  return rules.length === 0 ? null : rules.join('; ')
}

function patternText({
  expression,
  description,
}: {
  readonly expression: string
  readonly description: string | null
}) {
  return description === null ? `matches ${expression}` : `${description} (matches ${expression})`
}

function rangeText(least: number | string | null, most: number | string | null, unit: string): string | null {
  if (least !== null && most !== null) return `${least} to ${most}${unit}`
  if (least !== null) return `at least ${least}${unit}`
  return most === null ? null : `at most ${most}${unit}`
}

/** When a field is shown. A `!` before the name of the other field reverses the condition. */
function conditionText(condition: NonNullable<FormField['dependencies']>[number]): string {
  const { name, values, isValid } = condition
  const isTurned = name.startsWith('!')
  const other = isTurned ? name.slice(1) : name
  if (values === undefined) return `shown when ${other} is ${(isValid ?? true) !== isTurned ? 'valid' : 'not valid'}`
  const words = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(' or ')
  return `shown when ${other} is ${isTurned ? 'not ' : ''}${words}`
}

/** The default of a field as text; null: it has none. */
export function defaultText({ default: value, type }: FormField): string | null {
  if (value === undefined || value === null) return null
  if (type === 'password') return '********'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
