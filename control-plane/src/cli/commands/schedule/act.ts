import { writeAnswer } from '../../show/answer.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { idPosition, scheduleId } from './schedule-id.js'

const ACTS = {
  pause: { describe: 'Pause a schedule: it starts no jobs until it is resumed', done: 'starts no jobs now' },
  resume: { describe: 'Resume a schedule: it starts jobs again, from its next time on', done: 'starts jobs again' },
} as const

/** `holdfast schedule pause` and `resume` */
export const actCommand = (run: Run, verb: keyof typeof ACTS) =>
  command({
    command: `${verb} <id>`,
    describe: ACTS[verb].describe,
    builder: (yargs) => idPosition(clientOptions(yargs)),
    handler: async (args) => {
      const id = scheduleId(String(args.id))
      const client = await clientOf(run, args)
      const schedule = verb === 'pause' ? await client.pauseSchedule({ id }) : await client.resumeSchedule({ id })
      await writeAnswer(
        run.terminal.stdout,
        args.json,
        schedule,
        () => `The schedule ${id} (${schedule.name}) ${ACTS[verb].done}.\n`,
      )
    },
  })

/** `holdfast schedule delete` */
export const deleteCommand = (run: Run) =>
  command({
    command: 'delete <id>',
    describe: 'Delete a schedule; its jobs stay',
    builder: (yargs) => idPosition(clientOptions(yargs)),
    handler: async (args) => {
      const id = scheduleId(args.id)
      const client = await clientOf(run, args)
      const answer = await client.deleteSchedule({ id })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message}\n`)
    },
  })
