import { printBody } from '../../../follow/print-body.js'
import { EXIT } from '../../../exit-codes.js'
import { CliError } from '../../../errors.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'
import { jobIdPosition } from '../../options.js'

/** `holdfast job output`: prints the output for a host or a task. */
export const outputCommand = (run: Run) =>
  command({
    command: 'output <id>',
    describe: 'Print the output of a job for one host, for one task, or for one task on one host',
    builder: (yargs) =>
      jobIdPosition(clientOptions(yargs))
        .option('host', { type: 'string', requiresArg: true, describe: 'Only what was printed for this host' })
        .option('task', {
          type: 'number',
          requiresArg: true,
          describe: 'Only what was printed for this task: its number in "holdfast job timeline"',
        }),
    handler: async (args) => {
      const { host, task } = args
      if (task !== undefined && !(Number.isSafeInteger(task) && task > 0)) {
        throw new CliError(EXIT.usage, '--task must be a number of "holdfast job timeline".')
      }
      const client = await clientOf(run, args)
      const id = jobIdOf(args.id)
      const response =
        host === undefined && task === undefined
          ? await client.downloadJobOutput({ id })
          : await client.getJobOutputPieces({ id, host, task })
      await printBody(response.body, run.terminal, client.server)
    },
  })
