import { writeAnswer } from '../../../show/answer.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'

/** The two decisions about a job that waits for an approval. Each is one request. */
const DECISIONS = {
  approve: 'Approve a job that waits for it, so that it runs',
  reject: 'Refuse the approval of a job; it then never runs',
} as const

/** `holdfast job approve|reject`. */
export const decideCommand = (run: Run, decision: keyof typeof DECISIONS) =>
  command({
    command: `${decision} <id>`,
    describe: DECISIONS[decision],
    builder: (yargs) => {
      const options = clientOptions(yargs).positional('id', {
        type: 'string',
        demandOption: true,
        describe: 'Id of the job',
      })
      return options.option('force', {
        type: 'boolean',
        default: false,
        hidden: decision !== 'approve',
        describe: 'Approve the job as it would run now, although it has changed since the approval was asked for',
      })
    },
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const client = await clientOf(run, args)
      const answer = await (decision === 'approve'
        ? client.approveJob({ id: jobId, ...(args.force ? { force: true } : {}) })
        : client.rejectJob({ id: jobId }))
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message}\n`)
    },
  })
