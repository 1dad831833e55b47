import { exitCodesText } from '../../../exit-codes.js'
import { runFollow } from '../../../follow/run-follow.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'
import { jobIdPosition } from '../../options.js'

/** `holdfast job follow`: shows the output of a job, live, from its beginning to its end. */
export const followCommand = (run: Run) =>
  command({
    command: 'follow <id>',
    describe: 'Show the output of a job live, until it ends',
    builder: (yargs) =>
      jobIdPosition(clientOptions(yargs))
        .option('color', { type: 'boolean', describe: 'Keep (or with --no-color drop) the colours of the output' })
        .option('wait', {
          type: 'boolean',
          default: false,
          describe: 'Go on when the job is given up (abandoned), until its real outcome comes',
        })
        .epilogue(exitCodesText()),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      run.exitCode = await runFollow(await clientOf(run, args), run.terminal, jobId, args)
    },
  })
