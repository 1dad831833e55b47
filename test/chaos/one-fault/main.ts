import { runCommand } from '../soak/command.js'
import { failOneByOne } from './one-fault.js'
import { USAGE, readOptions } from './options.js'

await runCommand(USAGE, readOptions, failOneByOne)
