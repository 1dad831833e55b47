import { command, type Run } from '../common.js'
import { abortCommand } from './abort.js'
import { approvalsCommand } from './approvals.js'
import { decideCommand } from './decide.js'
import { compareCommand } from './compare.js'
import { deleteCommand } from './delete.js'
import { downloadCommand } from './download.js'
import { eventsCommand } from './events.js'
import { followCommand } from './follow.js'
import { launchCommand } from './launch.js'
import { listCommand } from './list.js'
import { outputCommand } from './output.js'
import { relaunchCommand } from './relaunch.js'
import { searchCommand } from './search.js'
import { showCommand } from './show.js'
import { timelineCommand } from './timeline.js'

/** `holdfast job …` */
export const jobCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(launchCommand(run))
        .command(relaunchCommand(run))
        .command(followCommand(run))
        .command(listCommand(run))
        .command(showCommand(run))
        .command(abortCommand(run))
        .command(approvalsCommand(run))
        .command(decideCommand(run, 'approve'))
        .command(decideCommand(run, 'reject'))
        .command(eventsCommand(run))
        .command(timelineCommand(run))
        .command(compareCommand(run))
        .command(searchCommand(run))
        .command(outputCommand(run))
        .command(downloadCommand(run))
        .command(deleteCommand(run))
        .demandCommand(
          1,
          'Say what to do with jobs: launch, relaunch, follow, list, show, abort, approvals, approve, reject, events, timeline, compare, search, output, download or delete.',
        ),
    handler: () => undefined,
  })
