import { writeAnswer } from '../../show/answer.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../common.js'

/** `holdfast job delete`: removes an ended job with its output and events. */
export const deleteCommand = (run: Run) =>
  command({
    command: 'delete <id>',
    describe: 'Delete an ended job with its output and events',
    builder: (yargs) =>
      clientOptions(yargs).positional('id', { type: 'string', demandOption: true, describe: 'Id of the job' }),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const client = await clientOf(run, args)
      const answer = await client.deleteJob({ id: jobId })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message}\n`)
    },
  })
