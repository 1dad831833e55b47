import { command, type Run } from '../common.js'
import { checkCommand } from './check.js'
import { listCommand } from './list.js'
import { showCommand } from './show.js'

/** `holdfast form …` */
export const formCommands = (run: Run) =>
  command({
    command: 'form',
    describe: 'Look at the forms that can be launched',
    builder: (yargs) =>
      yargs
        .command(listCommand(run))
        .command(showCommand(run))
        .command(checkCommand(run))
        .demandCommand(1, 'Say what to do with forms: list, show or check.'),
    handler: () => undefined,
  })
