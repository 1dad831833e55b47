import { runCommand } from '../soak/command.js'
import { USAGE, readFailOverOptions } from './options.js'

await runCommand(
  USAGE,
  (args) => readFailOverOptions(args, Math.random),
  async (...given) => (await import('./fail-overs.js')).playFailOvers(...given),
)
