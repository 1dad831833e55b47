import type { Client, Runner } from '@holdfast/client'
import type { Argv } from 'yargs'
import { UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import { type ClientArgs, clientOf, clientOptions, command, type Run } from '../common.js'
import { runnerNamed } from './find-runner.js'

/** What an admin can set for a runner. What is left out stays as it is. */
type Changes = Parameters<Client['changeRunner']>[0]['body']

function runnerOptions<T>(yargs: Argv<T>) {
  return clientOptions(yargs).positional('runner', { type: 'string', demandOption: true, describe: 'Id or name' })
}

async function change(
  run: Run,
  args: ClientArgs & { readonly runner: string },
  changesOf: (runner: Runner) => Changes,
): Promise<void> {
  const client = await clientOf(run, args)
  const runner = await runnerNamed(client, args.runner)
  const answer = await client.changeRunner({ id: runner.id, body: changesOf(runner) })
  await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message} (${runner.fingerprint})\n`)
}

/** `holdfast runner set`: changes switches and limits of a runner. */
export const setCommand = (run: Run) =>
  command({
    command: 'set <runner>',
    describe: 'Turn a runner on or off, limit its jobs, describe it',
    builder: (yargs) =>
      runnerOptions(yargs)
        .option('enabled', { type: 'boolean', describe: 'Whether it gets jobs; --no-enabled turns it off' })
        .option('max-jobs', {
          type: 'string',
          requiresArg: true,
          describe: 'Most playbooks at once; 0: no limit; agent: the limit that its agent has (RTE_MAX_JOBS)',
        })
        .option('description', { type: 'string', requiresArg: true, describe: 'What it is for' }),
    handler: async (args) => {
      const { enabled, description } = args
      const max_jobs = maxJobsOf(args.maxJobs)
      if ([enabled, description, max_jobs].every((one) => one === undefined)) {
        throw new UsageError('Say what to set: --enabled, --no-enabled, --max-jobs or --description.')
      }
      await change(run, args, () => ({ enabled, description, max_jobs }))
    },
  })

/** `holdfast runner default`: chooses the runner of forms that name none. */
export const defaultCommand = (run: Run) =>
  command({
    command: 'default <runner>',
    describe: 'Make a runner the default one. Forms that name no runner use it',
    builder: runnerOptions,
    handler: (args) => change(run, args, () => ({ is_default: true })),
  })

/** `holdfast runner rename`: changes the name that forms and roles use. */
export const renameCommand = (run: Run) =>
  command({
    command: 'rename <runner> <name>',
    describe: 'Give a runner another name; forms and roles that name it have to be changed, too',
    builder: (yargs) =>
      runnerOptions(yargs).positional('name', { type: 'string', demandOption: true, describe: 'Its new name' }),
    handler: (args) => change(run, args, () => ({ name: args.name })),
  })

/** `holdfast runner remove`: removes a runner from the list. */
export const removeCommand = (run: Run) =>
  command({
    command: 'remove <runner>',
    describe: 'Remove a runner; its name is free at once, and the runner may ask again',
    builder: runnerOptions,
    handler: async (args) => {
      const client = await clientOf(run, args)
      const runner = await runnerNamed(client, args.runner)
      const answer = await client.deleteRunner({ id: runner.id })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message} (${runner.fingerprint})\n`)
    },
  })

function maxJobsOf(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined
  if (text === 'agent') return null
  if (!/^\d{1,5}$/.test(text)) throw new UsageError('--max-jobs must be a whole number, or agent.')
  return Number(text)
}
