import { type JobOrder, type JobSecrets, holdsTemplate, isDeeperThan, shownText } from '@holdfast/protocol'
import { accessSync, constants, statSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import type { Isolation } from '../isolation/isolation.js'
import { writeReplacing } from '@holdfast/host/durable'
import { isErrno, isPassing } from '@holdfast/host/system-errors'
import type { JobFolder } from '../spool/job-folder.js'
import { secondPlacesOf } from '../spool/second-place.js'
import { OrderRefusedError, playbookArguments, type PlaybookRoot, workingFolder } from './command-line.js'
import { containerCommand, type ContainerSettings, environmentOfContainer, environmentOfPodman } from './container.js'
import { playbookEnvironment } from './environment.js'
import { extravarsYaml } from './extravars-text.js'
import { limitMarkOf } from './process-tree.js'
import { contentPaths, type GalaxySettings, type RequirementOrders, requirementsOf } from './requirements.js'
import type { SocketFolders } from './socket-folders.js'
import type { Environment } from '../ground.js'

/** How long an abort waits after SIGINT and after SIGTERM, and how long output may come after the end, in seconds. */
const ABORT_LADDER_SECONDS = { interrupt: 10, terminate: 5 }
const DRAIN_SECONDS = { quiet: 1, total: 5 }

/**
 * Most levels of extra variables. The values of a launch have 100, and a form may put them below a path. Python reads about
 * 1000.
 */
const MAX_LEVELS = 500

/** What the agent brings to the start of a playbook. */
export interface PlaybookSettings {
  /** The playbook folder on this host, or null when each job has a work folder made from the control plane's files. */
  readonly localFolder: string | null
  /** The agent's own environment, with a locale that ansible takes. */
  readonly environment: Environment
  /** Names of it that the operator passes on to playbooks beside what each gets. */
  readonly passEnvironment: readonly string[]
  /** Why this host has no Python that can start a playbook; null: it has one. */
  readonly pythonProblem: string | null
  /** The folder that holds the event callback. */
  readonly callbackFolder: string
  readonly isolation: Isolation
  /** Null: playbooks run on the host itself. */
  readonly container: ContainerSettings | null
  readonly sockets: SocketFolders
  /** Null: what a playbook folder requires is not installed. */
  readonly galaxy: GalaxySettings | null
  /** The Python of this host by its path. */
  readonly python: string
}

/**
 * Writes `supervisor.json`, which says how the job is started (docs/job-folder.md). No secret is in it.
 * @throws OrderRefusedError with the sentence that says why this order cannot be started
 */
export async function writePlan(
  order: JobOrder,
  folder: JobFolder,
  settings: PlaybookSettings,
  secrets: JobSecrets | null,
): Promise<void> {
  await writeReplacing(folder.file('supervisor.json'), JSON.stringify(planOf(order, folder, settings, secrets)))
}

/**
 * The content of `extravars.yml`.
 * @throws OrderRefusedError when the variables are nested too deeply to be written, or a name in them looks like a template:
 *   ansible keeps values as data, but not always the names of them
 */
export function extravarsText(extravars: unknown, allowJinja: boolean): string {
  requireShallow(extravars)
  const name = allowJinja ? null : templateName(extravars)
  if (name === null) return extravarsYaml(extravars, allowJinja)
  throw new OrderRefusedError(`the extra variables have the name ${shownText(name)}, which looks like a template`)
}

/**
 * Call this before anything goes through the extra variables of an order. Near the end of the stack V8 may end the whole
 * agent without an error.
 * @throws OrderRefusedError when they are nested too deeply to be written
 */
export function requireShallow(extravars: unknown): void {
  if (!isDeeperThan(extravars, MAX_LEVELS)) return
  throw new OrderRefusedError(`the extra variables cannot be written: they are nested deeper than ${MAX_LEVELS} levels`)
}

/** The first name at any depth that ansible would take for a template, or null. */
function templateName(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null
  for (const [name, item] of Object.entries(value)) {
    const found = !Array.isArray(value) && holdsTemplate(name) ? name : templateName(item)
    if (found !== null) return found
  }
  return null
}

function planOf(order: JobOrder, folder: JobFolder, settings: PlaybookSettings, secrets: JobSecrets | null): object {
  const { localFolder, isolation, pythonProblem } = settings
  if (pythonProblem !== null) throw new OrderRefusedError(pythonProblem)
  // A job never runs with less than the form asks for.
  if (isolation.kind === 'unavailable') throw new OrderRefusedError(isolation.problem)
  const root: PlaybookRoot =
    localFolder === null ? { path: folder.file('work'), confined: true } : { path: localFolder, confined: false }
  const cwd = workingFolder(root, order.playbook_sub_path)
  const marker = folder.key.runId
  const env = playbookEnvironment({
    own: isolation.kind === 'none' ? settings.environment : withoutOwner(settings.environment),
    more: settings.passEnvironment,
    cwd,
    marker,
    eventsFile: folder.file('events.jsonl'),
    callbackFile: folder.file('callback.json'),
    secretsFile: secrets === null ? null : folder.file('secret-values'),
    hasMarks: order.output_marks,
    callbackFolder: settings.callbackFolder,
    socketFolder: socketFolderOf(marker, settings),
  })
  const given = secretArguments(secrets, folder)
  const playbook = playbookArguments(order, root, cwd, folder.file('extravars.yml'), given)
  const container = containerRun(order, folder, settings, { root, cwd, env, keyFiles: secrets?.key_files.length ?? 0 })
  return {
    run_id: order.run_id,
    argv: [
      ...(container?.argv ?? [...installationOf(settings, root, cwd, env), findProgram('ansible-playbook', env.PATH)]),
      ...playbook,
    ],
    cwd,
    env: container?.env ?? env,
    container: container !== null,
    marker,
    limit_mark: limitMarkOf(marker),
    output_limit_bytes: order.output_limit_bytes,
    abort_ladder_seconds: ABORT_LADDER_SECONDS,
    drain_seconds: DRAIN_SECONDS,
    isolation: isolation.kind === 'none' ? null : isolation.orders,
    second_places: secondPlacesOf(settings.environment),
  }
}

/**
 * The command and the environment of podman; null when the playbook runs on the host itself.
 * @throws OrderRefusedError when there is no podman or no image, or the form asks for something that this runner cannot
 * do. A job never runs with less than the form asks for
 */
function containerRun(
  order: JobOrder,
  folder: JobFolder,
  { container, environment, callbackFolder, sockets, localFolder }: PlaybookSettings,
  job: { root: PlaybookRoot; cwd: string; env: Readonly<Record<string, string>>; keyFiles: number },
): { argv: string[]; env: Record<string, string> } | null {
  const asked = order.image
  if (container === null) {
    if (asked === null) return null
    throw new OrderRefusedError(`the form asks for the image ${asked}, and this runner has not RTE_EXECUTION=podman`)
  }
  const image = asked ?? container.image
  if (image === null)
    throw new OrderRefusedError('the form names no executionImage, and RTE_EXECUTION_IMAGE is not set')
  const inside = environmentOfContainer(job.env)
  const folders = [folder.path, sockets.folderOf(order.run_id), ...(localFolder === null ? [] : [job.root.path])]
  const { runId } = folder.key
  const needs = { runId, image, cwd: job.cwd, folders, readFolders: [dirname(callbackFolder)], keyFiles: job.keyFiles }
  const argv = containerCommand(findProgram('podman', environment.PATH), { ...needs, environment: inside }, container)
  return { argv, env: { ...environmentOfPodman(environment), ...inside } }
}

/**
 * What comes before ansible-playbook on the command line where the folder requires roles or collections: a program that installs
 * them and then becomes ansible-playbook. Empty where there is nothing to install.
 * @throws OrderRefusedError when there is no ansible-galaxy
 */
function installationOf(
  { galaxy, isolation, python }: PlaybookSettings,
  root: PlaybookRoot,
  cwd: string,
  env: Readonly<Record<string, string>>,
): string[] {
  const files = galaxy === null ? [] : requirementsOf(cwd, root.path)
  if (galaxy === null || files.length === 0) return []
  const orders: RequirementOrders = {
    files,
    program: findProgram('ansible-galaxy', env.PATH),
    seconds: galaxy.seconds,
    cache: isolation.kind === 'none' ? galaxy.cache : null,
    ...contentPaths(env, cwd),
  }
  return [python, '-I', '-S', galaxy.script, JSON.stringify(orders)]
}

/** The path of a home may be too long for sockets. Each isolated job has its own /tmp where the host allows that. */
function socketFolderOf(runId: string, { isolation, sockets }: PlaybookSettings): string | null {
  if (isolation.kind === 'none') return sockets.folderOf(runId)
  return isolation.kind === 'user' && isolation.orders.private.includes('/tmp') ? '/tmp/ansible' : null
}

/** Removes variables that name places of the agent's own user: they are of no use to a job that runs as another user. */
function withoutOwner(own: PlaybookSettings['environment']): PlaybookSettings['environment'] {
  const personal = /^(?:XDG_\w+|SSH_AUTH_SOCK|SSH_AGENT_PID|DBUS_SESSION_BUS_ADDRESS|TMP|TEMP|TMPDIR|MAIL|SHELL)$/
  const kept = Object.entries(own).filter(([name]) => !personal.test(name))
  // The job's home is not known before its start. An ansible.cfg in the home of the agent does not count for the job.
  return { ...Object.fromEntries(kept), HOME: '/nonexistent' }
}

/** The path of the pipe with one of several vault passwords. */
function vaultPipe(folder: JobFolder, number: number): string {
  return `${folder.file('vault-password')}-${number}`
}

/** Whether there are variables of the launch that hold a password. */
export function hasVariables(secrets: JobSecrets): boolean {
  return Object.keys(secrets.variables).length > 0
}

/** The arguments of ansible-playbook by which it gets the secrets: names of pipes, never what is in them. */
function secretArguments(secrets: JobSecrets | null, folder: JobFolder): string[] {
  if (secrets === null) return []
  const one = secrets.vault_password === null ? [] : [`--vault-password-file=${folder.file('vault-password')}`]
  const several = secrets.vaults.map(({ id }, number) => `--vault-id=${id}@${vaultPipe(folder, number)}`)
  const vault = [...one, ...several]
  const ofLaunch = hasVariables(secrets) ? ['-e', `@${folder.file('launch-vars')}`] : []
  // Credentials come last: they win.
  return [...ofLaunch, '-e', `@${folder.file('secret-vars')}`, ...vault]
}

/**
 * The program's full path, so that its absence is noticed here, where it can be said in words.
 * @throws OrderRefusedError when it is not there; the system's error when that cannot be looked at now
 */
export function findProgram(name: string, path = ''): string {
  for (const folder of path.split(':')) {
    if (!isAbsolute(folder)) continue
    const candidate = resolve(folder, name)
    try {
      accessSync(candidate, constants.X_OK)
      if (statSync(candidate).isFile()) return candidate
    } catch (error) {
      // It is not in this folder of PATH, or it is no program. After an error of the disk neither is known.
      if (isPassing(error) && !isErrno(error, 'EACCES')) throw error
    }
  }
  throw new OrderRefusedError(`${name} was not found on this runner; install ansible or mend the agent's PATH`)
}
