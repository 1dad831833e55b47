import { command, type Run } from '../common.js'
import { createCommand, deleteCommand, updateCommand } from './change.js'
import { listCommand } from './list.js'

/** `holdfast credential …` */
export const credentialCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(listCommand(run))
        .command(createCommand(run))
        .command(updateCommand(run))
        .command(deleteCommand(run))
        .demandCommand(1, 'Say what to do with credentials: list, create, update or delete.'),
    handler: () => undefined,
  })
