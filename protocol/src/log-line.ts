import * as v from 'valibot'
import { escapeControls } from './escape-controls.js'

/** What every line of a log has. All other fields are details. */
const lineSchema = v.looseObject({ time: v.string(), level: v.string(), msg: v.optional(v.string(), '') })

/**
 * A log line that pino made, as one line for people: time, level, message, and the details as `name=value`.
 * @param json the line, with `time` in ISO 8601 and `level` as a word
 */
export function logLineText(json: string): string {
  const { time, level, msg, ...details } = v.parse(lineSchema, JSON.parse(json))
  const words = Object.entries(details).map(([name, value]) => ` ${name}=${detailText(value)}`)
  // Names and messages come from strangers: none may begin a line of its own or send commands to a terminal.
  return `${escapeControls(`${time} ${level.toUpperCase().padEnd(5)} ${msg}${words.join('')}`)}\n`
}

function detailText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[\w:./+=-]*$/.test(text) ? text : JSON.stringify(text)
}
