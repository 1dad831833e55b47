import type { Logger } from '../log.js'
import { execa } from 'execa'
import { OrderRefusedError } from './command-line.js'
import type { Environment } from '../ground.js'

/** How playbooks run in containers of podman on this host. */
export interface ContainerSettings {
  /** For jobs whose form names none; null: such a job is refused. */
  readonly image: string | null
  /** More options of `podman run`, by the operator. */
  readonly options: readonly string[]
}

/** What a container needs of its job. */
export interface ContainerJob {
  readonly runId: string
  readonly image: string
  readonly cwd: string
  /** Folders that the playbook writes to, by the same path inside and outside. */
  readonly folders: readonly string[]
  /** Folders that it only reads. */
  readonly readFolders: readonly string[]
  /** Private keys, which are passed on as open files with the numbers from 3 on. */
  readonly keyFiles: number
  readonly environment: Readonly<Record<string, string>>
}

/** Variables that name a place or a user of the host. They mean nothing in a container, which has its own. */
const OF_HOST =
  /^(?:PATH|PWD|HOME|USER|LOGNAME|SHELL|TERM|TMPDIR|TEMP|TMP|LD_LIBRARY_PATH|VIRTUAL_ENV|LANG|LANGUAGE|LC_\w+|PYTHON\w*|XDG_\w+|SSH_A\w+|KRB5\w*)$/
/** What podman itself needs of the environment of the agent. */
const OF_PODMAN =
  /^(?:PATH|HOME|USER|LOGNAME|TMPDIR|XDG_\w+|CONTAINERS?_\w+|DBUS_SESSION_BUS_ADDRESS|\w+_proxy|\w+_PROXY)$/

/** The name of the container of a run. */
function containerName(runId: string): string {
  return `holdfast-${runId}`
}

/**
 * The command line that runs `ansible-playbook` in a container, without its arguments. It is the first process there and has
 * the output of the supervisor as its own. Values of variables are not in the command line: podman takes them from its
 * environment.
 * @param podman its path
 * @throws OrderRefusedError when podman could not be told one of the folders
 */
export function containerCommand(podman: string, job: ContainerJob, settings: ContainerSettings): string[] {
  const mount = (path: string, mode: string): string => {
    if (path.includes(':')) throw new OrderRefusedError(`a container cannot have the folder ${path}: it has a colon`)
    return `--volume=${path}:${path}${mode}`
  }
  return [
    podman,
    'run',
    '--rm',
    `--name=${containerName(job.runId)}`,
    '--log-driver=passthrough',
    // Root of the container is the user of the agent, or root where the agent is root.
    '--user=0:0',
    '--security-opt=label=disable',
    `--workdir=${job.cwd}`,
    ...job.folders.map((path) => mount(path, '')),
    ...job.readFolders.map((path) => mount(path, ':ro')),
    ...Object.keys(job.environment).map((name) => `--env=${name}`),
    ...(job.keyFiles === 0 ? [] : [`--preserve-fds=${job.keyFiles}`]),
    ...settings.options,
    '--entrypoint=ansible-playbook',
    job.image,
  ]
}

/** The part of a playbook's environment that the container gets. */
export function environmentOfContainer(playbook: Readonly<Record<string, string>>): Record<string, string> {
  const inside = Object.entries(playbook).filter(([name]) => !OF_HOST.test(name))
  return { ...Object.fromEntries(inside), LC_ALL: 'C.UTF-8', PYTHONUNBUFFERED: '1' }
}

/** The part of the agent's environment that podman gets. */
export function environmentOfPodman(own: Environment): Record<string, string> {
  const passed = Object.entries(own).flatMap(([name, value]) =>
    value !== undefined && OF_PODMAN.test(name) ? [[name, value] as const] : [],
  )
  return Object.fromEntries(passed)
}

/** Removes what podman keeps of the container of a run that is over. A podman that was killed could not do so itself. */
export async function removeContainer(runId: string, own: Environment, log: Logger): Promise<void> {
  const words = ['rm', '--force', '--ignore', '--time=0', containerName(runId)]
  const result = await execa('podman', words, {
    env: environmentOfPodman(own),
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    timeout: 60_000,
  })
  if (result.failed) log.warn({ run: runId, said: result.stderr }, 'podman cannot remove the container of a job')
}
