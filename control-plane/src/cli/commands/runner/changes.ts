import type { Client, Runner } from '@holdfast/client'
import { UsageError, UnknownNameError } from '../../errors.js'
import { act, type Command, named } from '../act.js'
import { flag, setting, text } from '../options.js'
import { type Commands, tell } from '../resource.js'

/** The runner that a command is about. */
export const RUNNER = named('runner', 'Id or name', runnerNamed)

interface Answer {
  readonly message: string
}

const sentence = ({ message }: Answer, { on }: { readonly on: Runner }) => `${message} (${on.fingerprint})\n`

/** A decision of an admin about a runner: one request. */
const decide = (
  describe: string,
  ask: (client: Client, id: number, fingerprint: string | undefined) => Promise<Answer>,
): Command =>
  act({
    describe,
    on: RUNNER,
    options: {
      fingerprint: text(
        'Do it only if the runner has this fingerprint (holdfast-runner fingerprint prints it on its host)',
      ),
    },
    ask: ({ client, on: runner, args: { fingerprint } }) => {
      if (fingerprint !== undefined && fingerprint !== runner.fingerprint) {
        throw new UsageError(
          `Runner ${runner.name} has the fingerprint ${runner.fingerprint}, not ${fingerprint}: it is another host ` +
            'or has a new key. Nothing was changed.',
        )
      }
      return ask(client, runner.id, fingerprint)
    },
    text: sentence,
  })

/** The commands that decide who may be a runner. */
export const decisionCommands = {
  approve: decide('Let a runner that asks to join run jobs', (client, id, fingerprint) =>
    client.approveRunner(fingerprint === undefined ? { id } : { id, body: { fingerprint } }),
  ),
  reject: decide('Reject a request to join; the runner may ask again', (client, id) => client.rejectRunner({ id })),
  revoke: decide('Take an approved runner out of service at once', (client, id) => client.revokeRunner({ id })),
  reinstate: decide('Let a revoked runner in again; its playbooks went on meanwhile', (client, id) =>
    client.reinstateRunner({ id }),
  ),
  accept: decide(
    'Let in a runner that was refused as a clone, because its state folder was restored from an older copy',
    (client, id) => client.acceptRunner({ id }),
  ),
} satisfies Commands

/** The commands that change what a runner is and does. */
export const changeCommands = {
  keep: act({
    describe: 'Keep a request to join in the list, also when its runner has left',
    on: RUNNER,
    options: { undo: flag('Keep it no longer') },
    ask: ({ client, on: { id }, args }) => client.changeRunner({ id, body: { keep: !args.undo } }),
    text: sentence,
  }),
  set: act({
    describe: 'Turn a runner on or off, limit its jobs, describe it',
    on: RUNNER,
    options: {
      enabled: setting('Whether it gets jobs; --no-enabled turns it off'),
      'max-jobs': text('Most playbooks at once; 0: no limit; agent: the limit that its agent has (RTE_MAX_JOBS)'),
      description: text('What it is for'),
    },
    given: ({ enabled, description, maxJobs }) => {
      const body = { enabled, description, max_jobs: maxJobsOf(maxJobs) }
      if (Object.values(body).some((one) => one !== undefined)) return body
      throw new UsageError('Say what to set: --enabled, --no-enabled, --max-jobs or --description.')
    },
    ask: ({ client, on: { id }, given: body }) => client.changeRunner({ id, body }),
    text: sentence,
  }),
  default: tell({
    describe: 'Make a runner the default one. Forms that name no runner use it',
    on: RUNNER,
    ask: (client, { id }) => client.changeRunner({ id, body: { is_default: true } }),
    which: ({ fingerprint }) => fingerprint,
  }),
  rename: act({
    describe: 'Give a runner another name; forms and roles that name it have to be changed, too',
    on: RUNNER,
    positions: { name: 'Its new name' },
    ask: ({ client, on: { id }, args: { name } }) => client.changeRunner({ id, body: { name } }),
    text: sentence,
  }),
  remove: tell({
    describe: 'Remove a runner; its name is free at once, and the runner may ask again',
    on: RUNNER,
    ask: (client, { id }) => client.deleteRunner({ id }),
    which: ({ fingerprint }) => fingerprint,
  }),
} satisfies Commands

function maxJobsOf(typed: string | undefined): number | null | undefined {
  if (typed === undefined) return undefined
  if (typed === 'agent') return null
  if (!/^\d{1,5}$/.test(typed)) throw new UsageError('--max-jobs must be a whole number, or agent.')
  return Number(typed)
}

/** Finds a runner by id or name. @throws NotFoundError when there is none, UsageError when there are several */
async function runnerNamed(client: Client, idOrName: string): Promise<Runner> {
  const { records } = await client.listRunners()
  const byId = records.find((runner) => String(runner.id) === idOrName)
  if (byId) return byId
  const named = records.filter((runner) => runner.name === idOrName)
  const only = named[0]
  if (only && named.length === 1) return only
  if (only) {
    // A request to join with another key may have the name of an approved runner. Both are in the list.
    const ids = named.map((runner) => `${runner.id} (${runner.state}, ${runner.fingerprint})`).join(', ')
    throw new UsageError(`Several runners are named ${idOrName}: ${ids}. Give the id of the one that is meant.`)
  }
  throw new UnknownNameError(`There is no runner with the id or name ${idOrName}; holdfast runner list shows them.`)
}
