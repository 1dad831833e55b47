import { join } from 'node:path'
import type { Ground } from '../ground.js'
import type { Isolation } from '../isolation/isolation.js'
import type { AnsibleParts } from '../package-info.js'
import { readAnsibleVersion } from './ansible-version.js'
import { type ContainerSettings, removeContainer } from './container.js'
import type { HostPython } from './host-python.js'
import { findProgram, type PlaybookSettings } from './plan.js'
import { type PythonWatch, watchPython } from './python-watch.js'
import { openSocketFolders } from './socket-folders.js'

/** Settings that playbooks are started with. */
export interface PlaybookComposition {
  readonly statePath: string
  readonly localFolder: string | null
  readonly passEnvironment: readonly string[]
  /** How long an installation of requirements may take, in seconds; null: nothing is installed. */
  readonly galaxySeconds: number | null
  /** How playbooks run in containers; null: they run on the host itself. */
  readonly container: ContainerSettings | null
}

/** What this room needs of other rooms. */
export interface PlaybookNeeds {
  readonly python: PythonWatch
  readonly isolation: { readonly now: Isolation }
  /** @throws an error that is tried again while not all parts are there */
  readonly runtime: { readonly partsOfJobs: AnsibleParts }
}

/** The parts of this room. */
export interface PlaybookParts {
  readonly playbook: PlaybookSettings
  /** The program that starts a playbook and stays with it. */
  readonly supervisor: { readonly python: string; readonly script: string }
  readonly ansible: AnsibleOnHost
  /** Removes what is left of the container of a run; null: there are none. It never fails. */
  readonly removeContainer: ((runId: string) => Promise<void>) | null
}

/** The ansible of this host. */
export interface AnsibleOnHost {
  /** What `ansible-playbook --version` said; null while it is not known. */
  readonly version: string | null
  /** Asks for the version. Never rejects. */
  readVersion(): Promise<void>
}

/**
 * The Python of this host, and the watch for a better one.
 * @throws Error when no Python runs here at all
 */
export async function composePython(
  { log, after, onClose }: Pick<Ground, 'log' | 'after' | 'onClose'>,
  find: () => Promise<HostPython>,
): Promise<PythonWatch> {
  const python = await watchPython(find, { log, after })
  onClose(() => {
    python.close()
  })
  return python
}

/** How playbooks are started. What may change while the agent runs is asked for at each start. */
export function composePlaybook(
  { log, environment }: Ground,
  settings: PlaybookComposition,
  { python, isolation, runtime }: PlaybookNeeds,
): PlaybookParts {
  const { statePath, localFolder, passEnvironment, galaxySeconds: seconds, container } = settings
  const cache = join(statePath, 'cache', 'galaxy')
  let version: string | null = null
  return {
    playbook: {
      localFolder,
      passEnvironment,
      container,
      get callbackFolder() {
        return runtime.partsOfJobs.callbackFolder
      },
      sockets: openSocketFolders(statePath, log),
      get galaxy() {
        return seconds === null ? null : { cache, seconds, script: runtime.partsOfJobs.requirements }
      },
      get environment() {
        return withLocale(environment, python.now.locale)
      },
      get pythonProblem() {
        return python.now.problem
      },
      get python() {
        return python.now.path
      },
      get isolation() {
        return isolation.now
      },
    },
    supervisor: {
      get python() {
        return python.now.path
      },
      get script() {
        return runtime.partsOfJobs.supervisor
      },
    },
    removeContainer: container === null ? null : (runId) => removeContainer(runId, environment, log),
    ansible: {
      get version() {
        return version
      },
      async readVersion() {
        version = await readAnsibleVersion(environment)
        if (version === null) log.warn('ansible-playbook was not found or does not answer; jobs will fail')
      },
    },
  }
}

/**
 * What a playbook of any job must be able to read and to run. What its folder requires is installed by the job itself, with the
 * agent's Python.
 * @param parts null: they are not looked at
 */
export function playbookAccess(
  environment: Ground['environment'],
  { localFolder, galaxySeconds }: Pick<PlaybookComposition, 'localFolder' | 'galaxySeconds'>,
  python: string,
  parts: AnsibleParts | null,
): { readonly read: string[]; readonly run: string[] } {
  const read = parts === null ? [] : [parts.callbackFolder]
  if (localFolder !== null) read.push(localFolder)
  const run = programIn(environment.PATH, 'ansible-playbook')
  if (galaxySeconds === null) return { read, run }
  if (parts !== null) read.push(parts.requirements)
  return { read, run: [...run, ...programIn(environment.PATH, 'ansible-galaxy'), python] }
}

/** The agent's environment, with a locale that ansible accepts when the agent itself has none. */
function withLocale(environment: Ground['environment'], locale: string | null): Ground['environment'] {
  return locale === null ? environment : { ...environment, LC_ALL: locale }
}

/** The path of a program of ansible. Empty when it is not on this host: then a job that needs it is refused for that reason. */
export function programIn(path: string | undefined, name: 'ansible-playbook' | 'ansible-galaxy'): string[] {
  try {
    return [findProgram(name, path)]
  } catch {
    return []
  }
}
