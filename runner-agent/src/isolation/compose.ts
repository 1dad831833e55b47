import type { Ground } from '../ground.js'
import { ANSIBLE_PARTS } from '../package-info.js'
import {
  type Isolation,
  type IsolationHost,
  type IsolationSettings,
  isolationWord,
  openIsolation,
  releaseUser,
} from './isolation.js'

/** What this room needs of other rooms. */
export interface IsolationNeeds {
  /** The path of a Python. */
  readonly python: string
  /** Paths that a playbook must be able to read, and to run. */
  readonly read: readonly string[]
  readonly run: readonly string[]
}

/** How playbooks are kept apart on this host, by the latest try. */
export interface IsolationPart {
  readonly now: Isolation
  /** Why no job is taken; null: jobs are taken. */
  readonly problem: string | null
  /** How jobs are kept apart, in a word. */
  word(): string
  /** Most playbooks at once; 0: isolation sets no limit. */
  maxJobs(): number
  /** Tries whether isolation works here, unless that is known already. */
  prepare(): Promise<void>
  /** Frees the user that a job had. Returns sentences about what could not be ended or removed. */
  release(jobFolder: string): Promise<string[]>
}

/** Isolation as the settings ask for it. Nothing is checked before `prepare`. */
export function composeIsolation(
  { log }: Ground,
  settings: { readonly statePath: string; readonly isolation: IsolationSettings | null },
  needs: IsolationNeeds,
): IsolationPart {
  const host: IsolationHost = { ...needs, script: ANSIBLE_PARTS.isolation, statePath: settings.statePath }
  let now: Isolation = { kind: 'unavailable', problem: 'it was not tried yet' }
  return {
    get now() {
      return now
    },
    get problem() {
      return now.kind === 'unavailable' ? now.problem : null
    },
    word: () => isolationWord(now),
    maxJobs: () => (now.kind === 'user' ? now.orders.users.length : 0),
    async prepare() {
      if (now.kind === 'unavailable') now = await openIsolation(settings.isolation, host, log)
    },
    release: (jobFolder) => releaseUser(jobFolder, host),
  }
}
