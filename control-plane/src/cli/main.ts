import { runProgram } from './program.js'
import { processTerminal } from './terminal.js'

/** The whole of `holdfast`: runs the command line of this process and leaves its exit code. */
export async function main(): Promise<void> {
  // A reader that goes away (`| head`) is seen by whoever writes; without a listener Node would end with a stack trace.
  process.stdout.on('error', () => undefined)
  process.stderr.on('error', () => undefined)
  process.exitCode = await runProgram(process.argv.slice(2), processTerminal())
}
