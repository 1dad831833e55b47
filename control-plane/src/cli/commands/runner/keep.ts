import { writeAnswer } from '../../show/answer.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { runnerNamed } from './find-runner.js'

/** `holdfast runner keep`: keeps a request to join in the list when its runner leaves. */
export const keepCommand = (run: Run) =>
  command({
    command: 'keep <runner>',
    describe: 'Keep a request to join in the list, also when its runner has left',
    builder: (yargs) =>
      clientOptions(yargs)
        .positional('runner', { type: 'string', demandOption: true, describe: 'Id or name' })
        .option('undo', { type: 'boolean', default: false, describe: 'Keep it no longer' }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const runner = await runnerNamed(client, args.runner)
      const answer = await client.changeRunner({ id: runner.id, body: { keep: !args.undo } })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message} (${runner.fingerprint})\n`)
    },
  })
