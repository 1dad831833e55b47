import { writeAnswer } from '../../../show/answer.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'
import { jobIdPosition } from '../../options.js'

/** `holdfast job delete`: removes an ended job with its output and events. */
export const deleteCommand = (run: Run) =>
  command({
    command: 'delete <id>',
    describe: 'Delete an ended job with its output and events',
    builder: (yargs) => jobIdPosition(clientOptions(yargs)),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const client = await clientOf(run, args)
      const answer = await client.deleteJob({ id: jobId })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message}\n`)
    },
  })
