import { isDeepStrictEqual } from 'node:util'
import { isPlainObject } from '../../forms/values/plain.js'

/** A value that is not the same in two objects. */
export interface ValueChange {
  /** The keys that lead to it. */
  readonly path: readonly string[]
  /** In which of the objects it is: added is only in the first one. */
  readonly change: 'added' | 'removed' | 'changed'
  /** In the first and in the second object; null where it is missing. */
  readonly value: unknown
  readonly other: unknown
}

type Values = Readonly<Record<string, unknown>>

/** What differs between two objects, by key. Objects in both are looked into; lists are compared as a whole. */
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
