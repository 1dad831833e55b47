import { EXIT } from '../../exit-codes.js'
import { printable } from '../../show/printable.js'
import { writeLine } from '../../terminal.js'
import { command, type Run } from '../common.js'
import { hostOptions, hostSettings } from './settings.js'

/** `holdfast check`: the first command when something is wrong. An admin runs it on the host of the control plane. */
export const checkCommand = (run: Run) =>
  command({
    builder: (yargs) =>
      hostOptions(yargs).epilogue(
        'It changes nothing, and the control plane may run meanwhile. Run it as the user of the control plane. The exit ' +
          'code is 1 when something keeps a control plane from working here, and 2 for a wrong setting.',
      ),
    handler: async (args) => {
      const { terminal } = run
      const settings = await hostSettings(args, terminal.environment)
      // Loaded only here: the client commands need nothing of the control plane.
      const { checkControlPlane } = await import('../../../check/check.js')
      const say = (line: string): Promise<void> => writeLine(terminal.stdout, printable(line))
      const isFit = await checkControlPlane(settings, Date.now(), say)
      if (!isFit) run.exitCode = EXIT.unexpected
    },
  })
