import { runProgram } from './program.js'
import { processTerminal } from './terminal.js'

/** The program `holdfast`: runs the command line of this process and sets its exit code. */
export async function main(): Promise<void> {
  // When the reader of a pipe goes away (`| head`), each write fails and says so. Without these listeners Node.js would also
  // print a stack trace.
  process.stdout.on('error', () => undefined)
  process.stderr.on('error', () => undefined)
  process.exitCode = await runProgram(process.argv.slice(2), processTerminal())
}
