import { command, type Run } from '../common.js'
import { addCommand, addressesCommand, removeAddressCommand } from './addresses.js'
import { defaultCommand, removeCommand, renameCommand, setCommand } from './change.js'
import { decideCommand } from './decide.js'
import { keepCommand } from './keep.js'
import { listCommand } from './list.js'
import { orphansCommand } from './orphans.js'
import { showCommand } from './show.js'

/** `holdfast runner …` */
export const runnerCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(listCommand(run))
        .command(showCommand(run))
        .command(decideCommand(run, 'approve'))
        .command(decideCommand(run, 'reject'))
        .command(decideCommand(run, 'revoke'))
        .command(decideCommand(run, 'reinstate'))
        .command(decideCommand(run, 'accept'))
        .command(keepCommand(run))
        .command(setCommand(run))
        .command(defaultCommand(run))
        .command(renameCommand(run))
        .command(removeCommand(run))
        .command(orphansCommand(run))
        .command(addCommand(run))
        .command(addressesCommand(run))
        .command(removeAddressCommand(run))
        .demandCommand(
          1,
          'Say what to do with runners: list, show, approve, reject, revoke, reinstate, accept, keep, set, default, rename, remove, orphans, add, addresses or remove-address.',
        ),
    handler: () => undefined,
  })
