import { runCommand } from './command.js'
import { USAGE, readOptions } from './options.js'

await runCommand(
  USAGE,
  (args) => readOptions(args, Math.random),
  async (...given) => (await import('./soak.js')).soak(...given),
)
