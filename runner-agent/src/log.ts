import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import * as v from 'valibot'

export type { Logger } from 'pino'

/** What the text form needs of a line that pino made. */
const lineSchema = v.looseObject({ time: v.string(), level: v.string(), msg: v.optional(v.string(), '') })

/**
 * The agent's log: one JSON object a line, or for people one line of text. Whoever logs passes single fields, never
 * settings or messages as a whole, so that no secret gets here.
 */
export function createLog(options: { level: string; format: 'text' | 'json'; output: DestinationStream }): Logger {
  const { level, format, output } = options
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    format === 'json' ? output : { write: (line) => output.write(textLine(line)) },
  )
}

/** An error as one sentence with its causes; stacks only help with our own mistakes and stay in `debug`. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${describeError(error.cause)}`
}

function textLine(json: string): string {
  const { time, level, msg, ...fields } = v.parse(lineSchema, JSON.parse(json))
  const details = Object.entries(fields).map(([name, value]) => ` ${name}=${fieldText(value)}`)
  return `${time} ${level.toUpperCase().padEnd(5)} ${msg}${details.join('')}\n`
}

function fieldText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[\w:./+=-]*$/.test(text) ? text : JSON.stringify(text)
}
