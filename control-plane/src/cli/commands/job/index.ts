import { byHand, resource } from '../resource.js'
import { abortCommand, approvalCommands, deleteCommand } from './decisions.js'
import { launchCommand } from './launch/launch.js'
import { relaunchCommand } from './launch/relaunch.js'
import { downloadCommand } from './output/download.js'
import { followCommand } from './output/follow.js'
import { outputCommand } from './output/output.js'
import { searchCommand } from './output/search.js'
import { compareCommand } from './read/compare.js'
import { nodesCommand, timelineCommand } from './read/course.js'
import { eventsCommand } from './read/events.js'
import { approvalsCommand, listCommand } from './read/lists.js'
import { showCommand } from './read/show.js'

/** `holdfast job …` */
export const jobCommands = resource('jobs', {
  launch: byHand(launchCommand),
  relaunch: byHand(relaunchCommand),
  follow: byHand(followCommand),
  list: listCommand,
  show: byHand(showCommand),
  abort: abortCommand,
  approvals: approvalsCommand,
  ...approvalCommands,
  events: eventsCommand,
  timeline: timelineCommand,
  nodes: nodesCommand,
  compare: compareCommand,
  search: byHand(searchCommand),
  output: byHand(outputCommand),
  download: byHand(downloadCommand),
  delete: deleteCommand,
})
