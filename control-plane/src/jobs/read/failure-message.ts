import { isPlainObject } from '../../forms/values/plain.js'

/** Longest message, in characters. */
const MAX_MESSAGE = 500

/** What ansible says when the real message is somewhere else in the result. */
const GENERIC =
  /^(?:one or more items failed|all items (?:completed|skipped)|non-zero return code|module failure\b.*|the module failed to execute correctly.*|unreachable|failed)?[.!]?$/i

/**
 * The line of a failed result that says what went wrong. It is the first line of the message, or else the first line that
 * the program printed as an error, or else the last line of a traceback. Null: the result says nothing.
 */
export function failureMessage(result: unknown): string | null {
  if (!isPlainObject(result)) return typeof result === 'string' ? firstLine(result) : null
  const message = firstLine(textOf(result.msg))
  if (message !== null && !GENERIC.test(message)) return message
  const printed =
    lastLine(textOf(result.exception)) ??
    lastLine(textOf(result.module_stderr)) ??
    firstLine(textOf(result.stderr)) ??
    firstLine(textOf(result.reason)) ??
    lastLine(textOf(result.stdout))
  const code = typeof result.rc === 'number' && result.rc !== 0 ? `rc ${result.rc}` : null
  const parts = [printed ?? message, printed === null ? code : null].filter((part) => part !== null)
  return parts.length === 0 ? null : parts.join(', ')
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.filter((part) => typeof part === 'string').join('\n') : ''
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

const firstLine = (text: string) => shortened(linesOf(text)[0])
const lastLine = (text: string) => shortened(linesOf(text).at(-1))

function shortened(line: string | undefined): string | null {
  if (line === undefined) return null
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE - 1)}…` : line
}
