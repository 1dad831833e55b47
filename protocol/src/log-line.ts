import * as v from 'valibot'

/** What every line of a log has; the rest of it is details. */
const lineSchema = v.looseObject({ time: v.string(), level: v.string(), msg: v.optional(v.string(), '') })

/**
 * A log line that pino made, as one line for people: time, level, message, and the details as `name=value`.
 * @param json the line, with `time` in ISO 8601 and `level` as a word
 */
export function logLineText(json: string): string {
  const { time, level, msg, ...details } = v.parse(lineSchema, JSON.parse(json))
  const words = Object.entries(details).map(([name, value]) => ` ${name}=${detailText(value)}`)
  return `${escaped(`${time} ${level.toUpperCase().padEnd(5)} ${msg}${words.join('')}`)}\n`
}

/** Names and messages come from strangers: none may begin a line of its own or send commands to a terminal. */
function escaped(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function detailText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[\w:./+=-]*$/.test(text) ? text : JSON.stringify(text)
}
