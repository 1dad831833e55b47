import { act } from './act.js'
import { flag, text } from './options.js'
import { resource } from './resource.js'

const fingerprintLine = (key: { readonly fingerprint: string }) => `${key.fingerprint}\n`

/** What is counted for the caller, in the words of a person. */
const ATTENTION = [
  ['approvals', 'jobs wait for an approval that you may give'],
  ['runner_requests', 'runners ask to join'],
  ['lost_runners', 'approved runners are not connected'],
  ['unknown_jobs', 'jobs of runners are unknown to the database'],
  ['broken_forms', 'forms, workflows or parts of them are not in force'],
] as const

/** `holdfast service …` */
export const serviceCommands = resource('the service', {
  attention: act({
    describe: 'Say how much waits for you: approvals, and for admins runners and forms',
    ask: ({ client }) => client.getAttention(),
    text: (answer) =>
      ATTENTION.map(([name, words]) => [answer[name], words] as const)
        .filter(([count]) => count !== null)
        .map(([count, words]) => `${String(count).padStart(5)}  ${words}\n`)
        .join(''),
  }),
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
