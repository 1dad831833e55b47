import { escapeControlsInJson, logLineText } from '@holdfast/protocol'
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'

/** The service's log: one JSON object in each line, or one line of text for people. */
export function createLog(options: {
  readonly level: string
  readonly format: 'text' | 'json'
  readonly output: DestinationStream
}): Logger {
  const { level, format, output } = options
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // The credentials of a request are never logged.
      redact: ['headers.authorization', 'headers.cookie', '*.headers.authorization', '*.headers.cookie'],
    },
    { write: (line: string) => output.write(format === 'json' ? escapeControlsInJson(line) : logLineText(line)) },
  )
}
