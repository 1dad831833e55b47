import { command, type Run } from '../common.js'
import { listCommand } from './list.js'
import { showCommand } from './show.js'

/** `holdfast form …` */
export const formCommands = (run: Run) =>
  command({
    command: 'form',
    describe: 'Look at the forms that can be launched',
    builder: (yargs) =>
      yargs.command(listCommand(run)).command(showCommand(run)).demandCommand(1, 'What about forms? list or show.'),
    handler: () => undefined,
  })
