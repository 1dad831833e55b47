import { type PlainObject, isPlainObject, isSame } from '../forms/values/plain.js'
import { MASK } from './masking.js'

/**
 * Puts back what was hidden: a client that sends a mask means the value that it was shown the mask for, never the mask.
 * Entries of lists are known again by their place, else by everything in them that is not hidden.
 * @param kept the values that the masks may stand for
 * @param lost told about each mask for which there is no value, or more than one; such an entry is left out
 */
export function unmask(sent: unknown, kept: unknown, lost: () => void): unknown {
  if (sent === MASK) {
    if (kept === undefined) lost()
    return kept
  }
  if (Array.isArray(sent)) return unmaskList(sent, Array.isArray(kept) ? kept : [], lost)
  if (!isPlainObject(sent)) return sent
  return Object.fromEntries(
    Object.entries(sent).flatMap(([key, value]): [string, unknown][] => {
      const found = unmask(value, ofKey(kept, key), lost)
      return found === undefined ? [] : [[key, found]]
    }),
  )
}

function unmaskList(sent: readonly unknown[], kept: readonly unknown[], lost: () => void): unknown[] {
  return sent
    .map((entry, place) => {
      if (!holdsMask(entry)) return entry
      const fitting = fits(entry, kept[place]) ? [kept[place]] : kept.filter((candidate) => fits(entry, candidate))
      return unmask(entry, fitting.every((one) => isSame(one, fitting[0])) ? fitting[0] : undefined, lost)
    })
    .filter((entry) => entry !== undefined)
}

function holdsMask(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === MASK
  return Object.values(value).some(holdsMask)
}

/** Whether a value with masks is this one as it is shown. */
function fits(sent: unknown, kept: unknown): boolean {
  if (sent === MASK) return true
  if (Array.isArray(sent)) {
    return Array.isArray(kept) && sent.length === kept.length && sent.every((entry, place) => fits(entry, kept[place]))
  }
  if (!isPlainObject(sent)) return isSame(sent, kept)
  return (
    isPlainObject(kept) &&
    Object.keys(kept).every((key) => Object.hasOwn(sent, key)) &&
    Object.entries(sent).every(([key, value]) => fits(value, ofKey(kept, key)))
  )
}

function ofKey(value: unknown, key: string): unknown {
  return isPlainObject(value) && Object.hasOwn(value as PlainObject, key) ? value[key] : undefined
}
