import { byHand, resource, type Commands, tell } from '../resource.js'
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
import type { Client } from '@holdfast/client'
import { act, type Command } from '../act.js'
import { flag, JOB } from '../options.js'

interface Answer {
  readonly message: string
}

const sentence = ({ message }: Answer) => `${message}\n`

/** A decision about a job that waits for an approval: one request. */
const decide = (
  describe: string,
  isApproval: boolean,
  ask: (client: Client, id: number, force: boolean) => Promise<Answer>,
): Command =>
  act({
    describe,
    on: JOB,
    options: {
      force: {
        ...flag('Approve the job as it would run now, although it has changed since the approval was asked for'),
        hidden: !isApproval,
      },
    },
    ask: ({ client, on: id, args }) => ask(client, id, args.force),
    text: sentence,
  })

/** The commands that let a job run, or refuse it. */
const approvalCommands = {
  approve: decide('Approve a job that waits for it, so that it runs', true, (client, id, force) =>
    client.approveJob({ id, force: force || undefined }),
  ),
  reject: decide('Refuse the approval of a job; it then never runs', false, (client, id) => client.rejectJob({ id })),
} satisfies Commands

/** The command that asks for the end of a running job. */
const abortCommand = act({
  describe: 'Abort a running job',
  on: JOB,
  options: {
    abandoned: flag('Also a job that was given up (abandoned): its runner ends it when it is there'),
  },
  ask: ({ client, on: id, args }) => client.abortJob({ id, abandoned: args.abandoned || undefined }),
  text: sentence,
})

/** The command that removes an ended job with its output and events. */
const deleteCommand = tell({
  describe: 'Delete an ended job with its output and events',
  on: JOB,
  ask: (client, id) => client.deleteJob({ id }),
})

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
