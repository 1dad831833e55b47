import { command, type Run } from '../common.js'
import { listCommand, retryCommand, testMailCommand } from './deliveries.js'
import { addCommand, changeCommand, removeCommand, targetsCommand, testCommand } from './targets.js'

/** `holdfast notification …` */
export const notificationCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(listCommand(run))
        .command(retryCommand(run))
        .command(targetsCommand(run))
        .command(addCommand(run))
        .command(changeCommand(run))
        .command(removeCommand(run))
        .command(testCommand(run))
        .command(testMailCommand(run))
        .demandCommand(
          1,
          'Say what to do with notifications: list, retry, targets, add-target, change-target, remove-target, test or test-mail.',
        ),
    handler: () => undefined,
  })
