import { command, type Run } from '../common.js'
import { abortCommand } from './end/abort.js'
import { approvalsCommand } from './approve/approvals.js'
import { decideCommand } from './approve/decide.js'
import { compareCommand } from './read/compare.js'
import { deleteCommand } from './end/delete.js'
import { downloadCommand } from './output/download.js'
import { eventsCommand } from './read/events.js'
import { followCommand } from './output/follow.js'
import { launchCommand } from './launch/launch.js'
import { listCommand } from './read/list.js'
import { nodesCommand } from './read/nodes.js'
import { outputCommand } from './output/output.js'
import { relaunchCommand } from './launch/relaunch.js'
import { searchCommand } from './output/search.js'
import { showCommand } from './read/show.js'
import { timelineCommand } from './read/timeline.js'

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
        .command(nodesCommand(run))
        .command(compareCommand(run))
        .command(searchCommand(run))
        .command(outputCommand(run))
        .command(downloadCommand(run))
        .command(deleteCommand(run))
        .demandCommand(
          1,
          'Say what to do with jobs: launch, relaunch, follow, list, show, abort, approvals, approve, reject, events, timeline, nodes, compare, search, output, download or delete.',
        ),
    handler: () => undefined,
  })
