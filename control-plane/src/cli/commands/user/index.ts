import { command, type Run } from '../common.js'
import { acceptNameCommand, deleteCommand, setCommand, switchCommand } from './change.js'
import { createCommand, passwordCommand } from './create.js'
import { listCommand } from './list.js'

/** `holdfast user …` */
export const userCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(listCommand(run))
        .command(createCommand(run))
        .command(setCommand(run))
        .command(passwordCommand(run))
        .command(switchCommand(run, 'block'))
        .command(switchCommand(run, 'unblock'))
        .command(deleteCommand(run))
        .command(acceptNameCommand(run))
        .demandCommand(
          1,
          'Say what to do with users: list, create, set, password, block, unblock, delete or accept-name.',
        ),
    handler: () => undefined,
  })
