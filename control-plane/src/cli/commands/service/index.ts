import { writeAnswer } from '../../show/answer.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'

/** `holdfast service fingerprint`: prints the fingerprint that runners are to trust. */
const fingerprintCommand = (run: Run) =>
  command({
    command: 'fingerprint',
    describe: 'Print the fingerprint of the key by which the control plane proves itself to runners',
    builder: (yargs) => clientOptions(yargs),
    handler: async (args) => {
      const key = await (await clientOf(run, args)).getServiceKey()
      await writeAnswer(run.terminal.stdout, args.json, key, () => `${key.fingerprint}\n`)
    },
  })

/** `holdfast service rotate-key`: replaces the key. */
const rotateCommand = (run: Run) =>
  command({
    command: 'rotate-key',
    describe: 'Replace that key. The old key signs the new one, so the runners trust it by themselves',
    builder: (yargs) =>
      clientOptions(yargs)
        .option('fingerprint', {
          type: 'string',
          requiresArg: true,
          describe: 'Do it only if the key has this fingerprint now (so a repeated command replaces the key only once)',
        })
        .option('break-succession', {
          type: 'boolean',
          default: false,
          describe:
            'For an old key that is stolen or lost: it signs nothing, and each runner needs holdfast-runner trust --fingerprint',
        }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const body = { fingerprint: args.fingerprint, break_succession: args.breakSuccession }
      const key = await client.rotateServiceKey({ body })
      await writeAnswer(run.terminal.stdout, args.json, key, () => `${key.fingerprint}\n`)
    },
  })

/** `holdfast service …` */
export const serviceCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(fingerprintCommand(run))
        .command(rotateCommand(run))
        .demandCommand(1, 'Say what to do with the service: fingerprint or rotate-key.'),
    handler: () => undefined,
  })
