/** An object with named values, which is not a list. */
export type PlainObject = Readonly<Record<string, unknown>>

/** Whether a value is an object with names, and not a list. */
export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether there is no value: null, an empty text or an empty list. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

/**
 * Whether `required` counts it as no value. Blanks and an object without a key count as no value, too. 0 and false
 * count as values.
 */
export function isBlank(value: unknown): boolean {
  if (isEmpty(value)) return true
  if (typeof value === 'string') return value.trim() === ''
  return isPlainObject(value) && Object.keys(value).length === 0
}

/** Whether two JSON values are equal. The order of their keys does not matter. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((entry, index) => isSame(entry, other[index]))
  }
  if (!isPlainObject(one) || !isPlainObject(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  )
}

/** The value below `value` at the end of the steps; undefined when a step is missing. */
export function partOf(value: unknown, steps: readonly (string | number)[]): unknown {
  let current = value
  for (const step of steps) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined
    current = (current as Record<string | number, unknown>)[step]
  }
  return current
}
