import { command, type Run } from '../common.js'
import { abortCommand } from './abort.js'
import { downloadCommand } from './download.js'
import { eventsCommand } from './events.js'
import { followCommand } from './follow.js'
import { launchCommand } from './launch.js'
import { listCommand } from './list.js'
import { showCommand } from './show.js'

/** `holdfast job …` */
export const jobCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(launchCommand(run))
        .command(followCommand(run))
        .command(listCommand(run))
        .command(showCommand(run))
        .command(abortCommand(run))
        .command(eventsCommand(run))
        .command(downloadCommand(run))
        .demandCommand(1, 'What about jobs? launch, follow, list, show, abort, events or download.'),
    handler: () => undefined,
  })
