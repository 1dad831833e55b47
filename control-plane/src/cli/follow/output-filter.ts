import type { Output } from '../terminal.js'
import { createAnsiStripper, type OutputFilter } from './ansi-strip.js'
import { createTerminalFilter } from './terminal-filter.js'

/**
 * The filter for the output of a job. Null: no filter, every byte stays. A terminal gets only text and colours, because the
 * author of the output must not control the terminal of its reader.
 */
export function outputFilter(output: Output, color: boolean): OutputFilter | null {
  if (output.isTerminal) return createTerminalFilter(color)
  return color ? null : createAnsiStripper()
}
