import { writeAnswer } from '../show/answer.js'
import { clientOf, clientOptions, command, type Run } from './common.js'

/** `holdfast secret rotate` */
const rotateCommand = (run: Run) =>
  command({
    command: 'rotate <secret>',
    describe: 'Replace a secret of the control plane while it runs',
    builder: (yargs) =>
      clientOptions(yargs)
        .positional('secret', {
          choices: ['encryption', 'access-token'] as const,
          demandOption: true,
          describe: 'What encrypts stored secrets, or what signs tokens',
        })
        .epilogue(
          'Where ENCRYPTION_SECRET is a setting, set the new one, give the old one as ENCRYPTION_SECRET_PREVIOUS, restart every\n' +
            'control plane, and then run this: it encrypts everything with the new one.',
        ),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const answer = await (args.secret === 'encryption'
        ? client.rotateEncryptionSecret()
        : client.rotateAccessTokenSecret())
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message}\n`)
    },
  })

/** `holdfast secret …` */
export const secretCommands = (run: Run) =>
  command({
    builder: (yargs) => yargs.command(rotateCommand(run)).demandCommand(1, 'What about secrets? rotate.'),
    handler: () => undefined,
  })
