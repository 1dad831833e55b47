import type { RunnerAddress } from '@holdfast/client'
import { UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import type { Column } from '../../show/table.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { listCommandOf } from '../list-command.js'

const COLUMNS: readonly Column<RunnerAddress>[] = [
  { title: 'id', value: ({ id }) => id, align: 'right' },
  { title: 'address', value: ({ address }) => address },
  { title: 'name', value: ({ name }) => name ?? 'any' },
  { title: 'fingerprint', value: ({ fingerprint }) => fingerprint ?? 'any' },
  { title: 'problem', value: ({ problem }) => problem },
]

/** `holdfast runner add`: adds an address that the control plane dials. */
export const addCommand = (run: Run) =>
  command({
    command: 'add',
    describe: 'Have the control plane dial a runner whose host may not dial out (its agent has RTE_MODE=inbound)',
    builder: (yargs) =>
      clientOptions(yargs)
        .option('address', {
          type: 'string',
          requiresArg: true,
          demandOption: true,
          describe: 'Host and port of the agent, such as http://runner.example:8002',
        })
        .option('name', {
          type: 'string',
          requiresArg: true,
          describe: 'The name that the runner must have; another one is refused',
        })
        .option('fingerprint', { type: 'string', requiresArg: true, describe: 'The only key that may answer there' }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const { address, name, fingerprint } = args
      const added = await client.addRunnerAddress({ body: { address, name, fingerprint } })
      const words = `${added.address} is dialled from now on. Approve its runner when it asks: holdfast runner list\n`
      await writeAnswer(run.terminal.stdout, args.json, added, () => words)
    },
  })

/** `holdfast runner addresses`: lists the addresses that are dialled, and what is wrong with them. */
export const addressesCommand = (run: Run) =>
  listCommandOf(run, {
    command: 'addresses',
    describe: 'List the addresses of runners that the control plane dials',
    columns: COLUMNS,
    none: 'No runner is dialled.',
    read: (client) => client.listRunnerAddresses(),
  })

/** `holdfast runner remove-address`: removes an address that is dialled. */
export const removeAddressCommand = (run: Run) =>
  command({
    command: 'remove-address <id>',
    describe: 'Remove an address, so that it is no longer dialled; its runner stays',
    builder: (yargs) =>
      clientOptions(yargs).positional('id', { type: 'string', demandOption: true, describe: 'Id of the address' }),
    handler: async (args) => {
      if (!/^\d+$/.test(args.id))
        throw new UsageError(`${args.id} is not an address's id; see holdfast runner addresses.`)
      const client = await clientOf(run, args)
      const answer = await client.removeRunnerAddress({ id: Number(args.id) })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message}\n`)
    },
  })
