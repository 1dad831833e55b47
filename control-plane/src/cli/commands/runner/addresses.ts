import type { RunnerAddress } from '@holdfast/client'
import type { Column } from '../../show/table.js'
import { act, numbered } from '../act.js'
import { text } from '../options.js'
import { type Commands, list, numberOf, tell } from '../resource.js'

const COLUMNS: readonly Column<RunnerAddress>[] = [
  { title: 'id', value: ({ id }) => id, align: 'right' },
  { title: 'address', value: ({ address }) => address },
  { title: 'name', value: ({ name }) => name ?? 'any' },
  { title: 'fingerprint', value: ({ fingerprint }) => fingerprint ?? 'any' },
  { title: 'problem', value: ({ problem }) => problem },
]

/** The commands for the addresses that the control plane dials. */
export const addressCommands = {
  add: act({
    describe: 'Have the control plane dial a runner whose host may not dial out (its agent has RTE_MODE=inbound)',
    options: {
      address: {
        ...text('Host and port of the agent, such as http://runner.example:8002'),
        demandOption: true,
      },
      name: text('The name that the runner must have; another one is refused'),
      fingerprint: text('The only key that may answer there'),
    },
    ask: ({ client, args: { address, name, fingerprint } }) =>
      client.addRunnerAddress({ body: { address, name, fingerprint } }),
    text: ({ address }) => `${address} is dialled from now on. Approve its runner when it asks: holdfast runner list\n`,
  }),
  addresses: list({
    describe: 'List the addresses of runners that the control plane dials',
    columns: COLUMNS,
    none: 'No runner is dialled.',
    read: (client) => client.listRunnerAddresses(),
  }),
  'remove-address': tell({
    describe: 'Remove an address, so that it is no longer dialled; its runner stays',
    on: numbered('id', 'Id of the address', (typed) => numberOf(typed, "an address's id", 'runner addresses')),
    ask: (client, id) => client.removeRunnerAddress({ id }),
  }),
} satisfies Commands
