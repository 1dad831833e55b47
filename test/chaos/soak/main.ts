import { type SoakOptions, USAGE, readOptions } from './options.js'
import { soak } from './soak.js'

const INTERRUPTED = 130

const say = (line: string): void => void process.stderr.write(`${line}\n`)
const sayError = (error: unknown): void => say(`chaos: ${error instanceof Error ? error.message : String(error)}`)

function optionsOrUsage(): SoakOptions | null {
  try {
    const options = readOptions(process.argv.slice(2), Math.random)
    if (options === null) process.stdout.write(USAGE)
    return options
  } catch (error) {
    sayError(error)
    say('See: scripts/chaos --help')
    process.exitCode = 2
    return null
  }
}

async function main(options: SoakOptions): Promise<number> {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort())
  try {
    const { line, isExact } = await soak(options, interruption.signal, say)
    process.stdout.write(`${line}\n`)
    return isExact ? 0 : 1
  } catch (error) {
    sayError(error)
    return interruption.signal.aborted ? INTERRUPTED : 1
  }
}

const options = optionsOrUsage()
// Whatever an interrupted run still waits for ends with the process.
if (options) process.exit(await main(options))
