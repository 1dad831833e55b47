import { writeAnswer } from '../show/answer.js'
import { clientOf, clientOptions, command, type Run } from './common.js'
import { byHand, resource } from './resource.js'

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
          describe: 'encryption: it encrypts stored secrets. access-token: it signs tokens',
        })
        .epilogue(
          'If ENCRYPTION_SECRET is a setting: give the new one, give the old one as ENCRYPTION_SECRET_PREVIOUS, and restart\n' +
            'every control plane. Then run this command. It encrypts everything with the new secret.',
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
export const secretCommands = resource('secrets', { rotate: byHand(rotateCommand) })
