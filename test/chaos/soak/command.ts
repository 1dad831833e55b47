const INTERRUPTED = 130

/** What a command of chaos came to: its last line, and whether nothing was wrong. */
export interface CommandResult {
  readonly line: string
  readonly isExact: boolean
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)
const sayError = (error: unknown): void => say(`chaos: ${error instanceof Error ? error.message : String(error)}`)

/**
 * Reads the arguments, runs, prints the last line, and ends the process: whatever an interrupted run still waits for
 * ends with it. Exit code 0: nothing was wrong; 1: something was; 2: wrong arguments; 130: interrupted.
 * @param read null: only the help was asked for
 */
export async function runCommand<Options>(
  usage: string,
  read: (args: readonly string[]) => Options | null,
  run: (options: Options, interrupted: AbortSignal, say: (line: string) => void) => Promise<CommandResult>,
): Promise<void> {
  const options = optionsOrUsage(usage, read)
  if (options === null) return
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort())
  try {
    const { line, isExact } = await run(options, interruption.signal, say)
    process.stdout.write(`${line}\n`)
    process.exit(isExact ? 0 : 1)
  } catch (error) {
    sayError(error)
    process.exit(interruption.signal.aborted ? INTERRUPTED : 1)
  }
}

function optionsOrUsage<Options>(usage: string, read: (args: readonly string[]) => Options | null): Options | null {
  try {
    const options = read(process.argv.slice(2))
    if (options === null) process.stdout.write(usage)
    return options
  } catch (error) {
    sayError(error)
    say('See: scripts/chaos --help')
    process.exitCode = 2
    return null
  }
}
