import type { Client } from '@holdfast/client'
import { act, type Command } from '../act.js'
import { flag, JOB } from '../options.js'
import { type Commands, tell } from '../resource.js'

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
export const approvalCommands = {
  approve: decide('Approve a job that waits for it, so that it runs', true, (client, id, force) =>
    client.approveJob({ id, force: force || undefined }),
  ),
  reject: decide('Refuse the approval of a job; it then never runs', false, (client, id) => client.rejectJob({ id })),
} satisfies Commands

/** The command that asks for the end of a running job. */
export const abortCommand = act({
  describe: 'Abort a running job',
  on: JOB,
  options: {
    abandoned: flag('Also a job that was given up (abandoned): its runner ends it when it is there'),
  },
  ask: ({ client, on: id, args }) => client.abortJob({ id, abandoned: args.abandoned || undefined }),
  text: sentence,
})

/** The command that removes an ended job with its output and events. */
export const deleteCommand = tell({
  describe: 'Delete an ended job with its output and events',
  on: JOB,
  ask: (client, id) => client.deleteJob({ id }),
})
