import { writeAnswer } from '../../../show/answer.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'
import { jobIdPosition } from '../../options.js'

/** `holdfast job abort`: asks for the end of a running job. */
export const abortCommand = (run: Run) =>
  command({
    command: 'abort <id>',
    describe: 'Abort a running job',
    builder: (yargs) =>
      jobIdPosition(clientOptions(yargs)).option('abandoned', {
        type: 'boolean',
        default: false,
        describe: 'Also a job that was given up (abandoned): its runner ends it when it is there',
      }),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const client = await clientOf(run, args)
      const answer = await client.abortJob({ id: jobId, ...(args.abandoned ? { abandoned: true } : {}) })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message}\n`)
    },
  })
