import { blankControls } from '@holdfast/protocol'
import stripAnsi from 'strip-ansi'

/**
 * Text from a server for one cell or line: names of tasks and hosts come from playbooks, and must be able neither to
 * break a table nor to send commands to the terminal, nor to turn the direction in which it is read.
 */
export function printable(text: string): string {
  return blankControls(stripAnsi(text))
}
