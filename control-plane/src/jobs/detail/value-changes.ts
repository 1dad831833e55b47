import { isDeepStrictEqual } from 'node:util'
import { isPlainObject } from '../../forms/values/plain.js'

/** A value that differs between two objects. */
export interface ValueChange {
  /** The keys that lead to it. */
  readonly path: readonly string[]
  /** Which of the objects has it. `added`: only the first one has it. */
  readonly change: 'added' | 'removed' | 'changed'
  /** The value in the first object, and in the second one; null where it is missing. */
  readonly value: unknown
  readonly other: unknown
}

type Values = Readonly<Record<string, unknown>>

/**
 * The differences between two objects, by key. If both values are objects, their keys are compared. Lists are compared
 * as a whole.
 */
export function valueChangesOf(one: Values, other: Values, path: readonly string[] = []): ValueChange[] {
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort()
  return keys.flatMap((key): ValueChange[] => {
    const [isInOne, isInOther] = [Object.hasOwn(one, key), Object.hasOwn(other, key)]
    const here = { path: [...path, key], value: isInOne ? one[key] : null, other: isInOther ? other[key] : null }
    if (!isInOther) return [{ ...here, change: 'added' }]
    if (!isInOne) return [{ ...here, change: 'removed' }]
    if (isPlainObject(here.value) && isPlainObject(here.other)) return valueChangesOf(here.value, here.other, here.path)
    return isDeepStrictEqual(here.value, here.other) ? [] : [{ ...here, change: 'changed' }]
  })
}
