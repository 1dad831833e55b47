/** What stands in place of a secret. */
export const MASK = '********'

/**
 * Hides the values of all keys that match the pattern or are password fields, at any depth. The input is not changed.
 * @param keyPattern MASK_EXTRAVARS_REGEX
 */
export function maskValues(value: unknown, keyPattern: RegExp, passwordFields: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((entry) => maskValues(entry, keyPattern, passwordFields))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      const secret = passwordFields.has(key) || keyPattern.test(key)
      return [key, secret && entry !== null ? MASK : maskValues(entry, keyPattern, passwordFields)]
    }),
  )
}
