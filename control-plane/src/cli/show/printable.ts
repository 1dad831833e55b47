import stripAnsi from 'strip-ansi'

/**
 * Text from a server for one cell or line: names of tasks and hosts come from playbooks, and must be able neither to
 * break a table nor to send commands to the terminal.
 */
export function printable(text: string): string {
  return stripAnsi(text).replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}
