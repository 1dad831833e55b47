const JINJA_OPENINGS = ['{{', '{%', '{#']

/** True when ansible would take a string for a template. */
function looksLikeTemplate(text: string): boolean {
  return JINJA_OPENINGS.some((opening) => text.includes(opening))
}

/**
 * Marks every string of extra variables that ansible would template as unsafe, at any depth, so that ansible keeps it
 * as it is: what people type into a form is data.
 * @throws RangeError when the variables are nested too deeply for the stack
 */
export function markTemplatesUnsafe(value: unknown): unknown {
  if (typeof value === 'string') return looksLikeTemplate(value) ? { __ansible_unsafe: value } : value
  if (Array.isArray(value)) return value.map(markTemplatesUnsafe)
  if (typeof value !== 'object' || value === null) return value
  const marked: [string, unknown][] = Object.entries(value).map(([name, item]) => [name, markTemplatesUnsafe(item)])
  return Object.fromEntries(marked)
}
