import { command, type Run } from '../common.js'
import { listCommand } from './list.js'
import { verifyCommand } from './verify.js'

/** `holdfast audit …` */
export const auditCommands = (run: Run) =>
  command({
    builder: (yargs) => yargs.command(listCommand(run)).command(verifyCommand(run)),
    handler: () => undefined,
  })
