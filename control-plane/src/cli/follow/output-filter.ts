import type { Output } from '../terminal.js'
import { createAnsiStripper, type OutputFilter } from './ansi-strip.js'
import { createTerminalFilter } from './terminal-filter.js'

/**
 * What the output of a job goes through on its way out; null: nothing, it stays byte for byte. A terminal gets nothing
 * but text and colours, since whoever wrote the output must not command the terminal of whoever reads it.
 */
export function outputFilter(output: Output, color: boolean): OutputFilter | null {
  if (output.isTerminal) return createTerminalFilter(color)
  return color ? null : createAnsiStripper()
}
