import { command, type Run } from '../common.js'
import { actCommand, deleteCommand } from './act.js'
import { changeCommand, createCommand } from './change.js'
import { listCommand, nextCommand, showCommand } from './show.js'

/** `holdfast schedule …` */
export const scheduleCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(listCommand(run))
        .command(showCommand(run))
        .command(createCommand(run))
        .command(changeCommand(run))
        .command(actCommand(run, 'pause'))
        .command(actCommand(run, 'resume'))
        .command(nextCommand(run))
        .command(deleteCommand(run))
        .demandCommand(1, 'Say what to do with schedules: list, show, create, change, pause, resume, next or delete.'),
    handler: () => undefined,
  })
