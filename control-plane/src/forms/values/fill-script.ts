import { type Missing, type Resolve, findPlaceholders, missingOf, resolvePlaceholder, textOf } from './placeholders.js'
import { codePositions } from './script-contexts.js'

/** A script with its placeholders replaced, or the value that is missing. */
export type FilledScript =
  | { readonly complete: true; readonly text: string }
  | { readonly complete: false; readonly text: string; readonly missing: Missing }

/**
 * Replaces the placeholders of a JavaScript expression, so that a value stays a value. A text that a person typed into
 * a field never becomes code. Inside a text or a pattern, the value is inserted as text. Elsewhere, numbers, true,
 * false, null and JSON are read as such, and other texts stay texts. Line breaks are removed, as forms expect.
 * @param allowMissing `ignoreIncomplete`: an unknown value becomes undefined or null
 */
export function fillScript(script: string, resolve: Resolve, allowMissing: boolean): FilledScript {
  const isCode = codePositions(script)
  let filled = ''
  let end = 0
  let missing: Missing | null = null
  for (const found of findPlaceholders(script)) {
    const resolved = resolvePlaceholder(found.inside, resolve)
    if (!resolved.known && !allowMissing) missing = missingOf(missing, found.inside, resolved)
    filled += script.slice(end, found.start)
    filled += isCode(found.start) ? codeOf(resolved.value) : escaped(textInScript(resolved.value))
    end = found.end
  }
  filled += script.slice(end)
  return missing === null ? { complete: true, text: filled } : { complete: false, text: filled, missing }
}

function codeOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (typeof value === 'string') return textAsCode(value)
  return typeof value === 'object' ? parsed(JSON.stringify(value)) : JSON.stringify(value)
}

function textAsCode(text: string): string {
  const trimmed = text.trim()
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(trimmed)) return ` ${trimmed}`
  if (/^(true|false|null|undefined)$/.test(trimmed)) return trimmed
  return /^[[{]/.test(trimmed) && isJson(trimmed) ? parsed(trimmed) : `"${escaped(textInScript(text))}"`
}

/** The value goes through JSON.parse, because in code a key `__proto__` would mean something else. */
function parsed(json: string): string {
  return `JSON.parse("${escaped(json)}")`
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A value as it stands in a text of a script. Line breaks are removed, as forms expect. */
export function textInScript(value: unknown): string {
  return textOf(value).replace(/[\r\n]/g, '')
}

/**
 * This works in every kind of text and in patterns: all characters except letters, digits and blanks are written as
 * their codes.
 */
function escaped(text: string): string {
  return text.replace(/[^A-Za-z0-9 _]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
