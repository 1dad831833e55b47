import { escapeControlsInJson, logLineText } from '@holdfast/protocol'
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'

/** The service's log: one JSON object a line, or one line of text for people. */
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
      // Whatever is logged of a request, its credentials are not.
      redact: ['headers.authorization', 'headers.cookie', '*.headers.authorization', '*.headers.cookie'],
    },
    { write: (line: string) => output.write(format === 'json' ? escapeControlsInJson(line) : logLineText(line)) },
  )
}
