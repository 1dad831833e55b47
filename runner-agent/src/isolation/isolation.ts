import { execa } from 'execa'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import { parseJson } from '@holdfast/protocol'
import { describeError, type Logger } from '../log.js'
import { lookAt } from '../host/fact.js'

/** How playbooks are to be kept apart, as the settings say it. */
export interface IsolationSettings {
  /** Names or numbers of the users that jobs run as, one for each job. */
  readonly users: readonly string[]
  /** Whether sudo and other programs with rights of their own work in playbooks. */
  readonly sudo: boolean
  /** A folder whose content the home of each job begins with; null: homes are empty at first. */
  readonly home: string | null
}

/** What the supervisor is told about the users of jobs (docs/job-folder.md). */
export interface IsolationOrders extends v.InferOutput<typeof fitSchema> {
  readonly folder: string
  readonly sudo: boolean
  readonly home: string | null
}

/**
 * How playbooks are kept apart on this host:
 *
 *   none         they run as the user of the agent
 *   user         each runs as a user of its own
 *   unavailable  the settings ask for it and it does not work, so no job is taken; `problem` says why in a sentence
 */
export type Isolation =
  | { readonly kind: 'none' }
  | { readonly kind: 'user'; readonly orders: IsolationOrders }
  | { readonly kind: 'unavailable'; readonly problem: string }

/** What of this host the check needs to know. */
export interface IsolationHost {
  readonly python: string
  /** The helper that looks and cleans (`isolation.py`). */
  readonly script: string
  readonly statePath: string
  /** What a playbook must be able to read, and to run. */
  readonly read: readonly string[]
  readonly run: readonly string[]
}

const fitSchema = v.object({
  users: v.array(v.object({ uid: v.number(), gid: v.number(), name: v.string(), groups: v.array(v.number()) })),
  /** Folders of the host that each job has for itself, such as /tmp. */
  private: v.array(v.string()),
})
const checkSchema = v.union([
  v.object({ ...fitSchema.entries, warnings: v.array(v.string()) }),
  v.object({ problem: v.string() }),
])
const releaseSchema = v.object({ left: v.array(v.string()) })

const HELPER_TIMEOUT_MS = 120_000

/** Tries with each of the users whether jobs can be kept apart here. The log says the result. */
export async function openIsolation(
  settings: IsolationSettings | null,
  host: IsolationHost,
  log: Logger,
): Promise<Isolation> {
  if (settings === null) {
    log.info({ isolation: 'none' }, 'playbooks run as the user of the agent and are not kept apart from it')
    return { kind: 'none' }
  }
  const isolation = await check(settings, host, log)
  if (isolation.kind === 'unavailable') {
    log.error(
      { isolation: 'user', problem: isolation.problem },
      'RTE_ISOLATION=user cannot be had here: no job is taken until that is mended and the agent started again',
    )
  } else if (isolation.kind === 'user') {
    const { users, private: own } = isolation.orders
    log.info({ isolation: 'user', users: users.length, private: own }, 'each playbook runs as a user of its own')
    if (!own.includes('/tmp')) log.warn('jobs share /tmp: the agent may not give each its own, or it lies in there')
  }
  return isolation
}

async function check(settings: IsolationSettings, host: IsolationHost, log: Logger): Promise<Isolation> {
  const folder = usersFolderOf(host.statePath)
  const { users, sudo, home } = settings
  if (home !== null && !existsSync(home))
    return { kind: 'unavailable', problem: `RTE_ISOLATION_HOME: no folder ${home}` }
  // The folders must exist, because the helper checks that users of jobs cannot read them.
  const closed = ['spool/staging', 'spool/trash', 'cache', 'generations'].map((path) => join(host.statePath, path))
  const hidden = [join(host.statePath, 'identity'), ...closed]
  try {
    for (const path of closed) mkdirSync(path, { recursive: true, mode: 0o700 })
    const asked = { users, folder, state: host.statePath, read: host.read, run: host.run, hidden }
    const answer = await ask(host, 'check', asked, checkSchema)
    if ('problem' in answer) return { kind: 'unavailable', problem: answer.problem }
    for (const warning of answer.warnings) log.warn(warning)
    return { kind: 'user', orders: { users: answer.users, private: answer.private, folder, sudo, home } }
  } catch (error) {
    return { kind: 'unavailable', problem: `it could not be tried: ${describeError(error)}` }
  }
}

/**
 * Ends the processes of a job whose supervisor is gone. It finds them by the user that the job had, and removes that
 * user's files.
 * @returns sentences about what could not be ended or removed; none also for a job that had no user of its own
 * @throws Error when the helper cannot be run, or when nobody can tell whether the job had a user
 */
export async function releaseUser(
  jobFolder: string,
  host: Pick<IsolationHost, 'python' | 'script' | 'statePath'>,
): Promise<string[]> {
  const given = lookAt(join(jobFolder, 'isolation.json'))
  if (given.kind === 'unknown') throw new Error(`isolation.json cannot be looked at: ${given.code}`)
  if (given.kind === 'absent') return []
  const asked = { job: jobFolder, folder: usersFolderOf(host.statePath) }
  return (await ask(host, 'release', asked, releaseSchema)).left
}

/** The word for it in `/ready`, in the hello and for admins. */
export function isolationWord(isolation: Isolation): string {
  return isolation.kind === 'unavailable' ? 'user (not available)' : isolation.kind
}

function usersFolderOf(statePath: string): string {
  return join(statePath, 'users')
}

async function ask<Schema extends v.GenericSchema>(
  host: Pick<IsolationHost, 'python' | 'script'>,
  what: string,
  input: object,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const result = await execa(host.python, ['-I', '-S', host.script, what], {
    input: JSON.stringify(input),
    cwd: '/',
    env: {},
    extendEnv: false,
    timeout: HELPER_TIMEOUT_MS,
    maxBuffer: 1024 * 1024,
  })
  return parseJson(schema, result.stdout)
}
