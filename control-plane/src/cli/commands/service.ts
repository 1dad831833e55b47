import { act } from './act.js'
import { flag, text } from './options.js'
import { resource } from './resource.js'

const fingerprintLine = (key: { readonly fingerprint: string }) => `${key.fingerprint}\n`

/** `holdfast service …` */
export const serviceCommands = resource('the service', {
  fingerprint: act({
    describe: 'Print the fingerprint of the key by which the control plane proves itself to runners',
    ask: ({ client }) => client.getServiceKey(),
    text: fingerprintLine,
  }),
  'rotate-key': act({
    describe: 'Replace that key. The old key signs the new one, so the runners trust it by themselves',
    options: {
      fingerprint: text(
        'Do it only if the key has this fingerprint now (so a repeated command replaces the key only once)',
      ),
      'break-succession': flag(
        'For an old key that is stolen or lost: it signs nothing, and each runner needs holdfast-runner trust --fingerprint',
      ),
    },
    ask: ({ client, args }) =>
      client.rotateServiceKey({ body: { fingerprint: args.fingerprint, break_succession: args.breakSuccession } }),
    text: fingerprintLine,
  }),
})
