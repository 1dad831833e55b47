import { writeAnswer } from '../../show/answer.js'
import { fieldsText } from '../../show/table.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { runnerNamed } from './find-runner.js'

/** `holdfast runner show`: shows everything about one runner. */
export const showCommand = (run: Run) =>
  command({
    command: 'show <runner>',
    describe: 'Show one runner',
    builder: (yargs) =>
      clientOptions(yargs).positional('runner', { type: 'string', demandOption: true, describe: 'Id or name' }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const { id } = await runnerNamed(client, args.runner)
      const runner = await client.getRunner({ id })
      await writeAnswer(run.terminal.stdout, args.json, runner, () =>
        fieldsText(run.terminal.stdout, Object.entries(runner)),
      )
    },
  })
