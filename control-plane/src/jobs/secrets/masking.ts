/** The text that stands in place of a secret. */
export const MASK = '********'

/**
 * Hides values by their names, at any depth. It hides everything under the key of a password field, and every text
 * under a key that matches the pattern, also in lists and objects below it. Numbers, true and false are not hidden
 * because of a matching name. The input is not changed.
 * @param keyPattern MASK_EXTRAVARS_REGEX, compiled
 */
export function maskValues(value: unknown, keyPattern: RegExp, passwordFields: ReadonlySet<string>): unknown {
  return masked(value, false)

  function masked(one: unknown, isBelowName: boolean): unknown {
    if (typeof one === 'string') return isBelowName ? MASK : one
    if (Array.isArray(one)) return one.map((entry) => masked(entry, isBelowName))
    if (typeof one !== 'object' || one === null) return one
    return Object.fromEntries(
      Object.entries(one).map(([key, entry]) => {
        if (passwordFields.has(key)) return [key, entry === null ? null : MASK]
        return [key, masked(entry, isBelowName || keyPattern.test(key))]
      }),
    )
  }
}

/** Whether a mask stands somewhere in a value. */
export function holdsMask(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === MASK
  return Object.values(value).some(holdsMask)
}
