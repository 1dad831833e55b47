import { runCommand } from './command.js'
import { USAGE, readOptions } from './options.js'
import { soak } from './soak.js'

await runCommand(USAGE, (args) => readOptions(args, Math.random), soak)
