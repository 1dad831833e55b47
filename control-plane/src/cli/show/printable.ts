import { blankControls } from '@holdfast/protocol'
import stripAnsi from 'strip-ansi'

/**
 * A text from a server, made safe for one cell or line. Names of tasks and hosts come from playbooks. They must not break a
 * table, send commands to the terminal, or change the direction in which a text is read.
 */
export function printable(text: string): string {
  return blankControls(stripAnsi(text))
}
