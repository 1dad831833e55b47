import type { Client } from '@holdfast/client'
import { UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { runnerNamed } from './find-runner.js'

/** The decisions of an admin about a runner. Each is one request. */
const DECISIONS = {
  approve: 'Let a runner that asks to join run jobs',
  reject: 'Reject a request to join; the runner may ask again',
  revoke: 'Take an approved runner out of service at once',
  reinstate: 'Let a revoked runner in again; its playbooks went on meanwhile',
  accept: 'Let in a runner that was refused as a clone, because its state folder was restored from an older copy',
} as const

const ASK = {
  approve: (client: Client, id: number, fingerprint?: string) =>
    client.approveRunner(fingerprint === undefined ? { id } : { id, body: { fingerprint } }),
  reject: (client: Client, id: number) => client.rejectRunner({ id }),
  revoke: (client: Client, id: number) => client.revokeRunner({ id }),
  reinstate: (client: Client, id: number) => client.reinstateRunner({ id }),
  accept: (client: Client, id: number) => client.acceptRunner({ id }),
}

/** `holdfast runner approve|reject|revoke|reinstate|accept`. */
export const decideCommand = (run: Run, decision: keyof typeof DECISIONS) =>
  command({
    command: `${decision} <runner>`,
    describe: DECISIONS[decision],
    builder: (yargs) =>
      clientOptions(yargs)
        .positional('runner', { type: 'string', demandOption: true, describe: 'Id or name' })
        .option('fingerprint', {
          type: 'string',
          requiresArg: true,
          describe: 'Do it only if the runner has this fingerprint (holdfast-runner fingerprint prints it on its host)',
        }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const runner = await runnerNamed(client, args.runner)
      if (args.fingerprint !== undefined && args.fingerprint !== runner.fingerprint) {
        throw new UsageError(
          `Runner ${runner.name} has the fingerprint ${runner.fingerprint}, not ${args.fingerprint}: it is another host ` +
            'or has a new key. Nothing was changed.',
        )
      }
      const answer = await ASK[decision](client, runner.id, args.fingerprint)
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message} (${runner.fingerprint})\n`)
    },
  })
