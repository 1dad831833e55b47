import { escapeControlsInJson, logLineText } from '@holdfast/protocol'
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'

export type { Logger } from 'pino'

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
    { write: (line: string) => output.write(format === 'json' ? escapeControlsInJson(line) : logLineText(line)) },
  )
}

/** An error as one sentence with its causes. Stacks help only with mistakes of this program; the level `debug` shows them. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${describeError(error.cause)}`
}
