import type { Ground } from '../ground.js'
import type { AnsibleParts } from '../package-info.js'
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
  /** Paths that a playbook must be able to read, and to run. Asked for when they are tried. */
  readonly access: () => { readonly read: readonly string[]; readonly run: readonly string[] }
  readonly parts: () => AnsibleParts
}

/** How playbooks are kept apart on this host, by the latest try. Nothing is checked before `prepare`. */
export function composeIsolation(
  { log }: Ground,
  settings: { readonly statePath: string; readonly isolation: IsolationSettings | null },
  { python, access, parts }: IsolationNeeds,
) {
  const hostNow = (): IsolationHost => {
    return { python, ...access(), script: parts().isolation, statePath: settings.statePath }
  }
  let now: Isolation = { kind: 'unavailable', problem: 'it was not tried yet' }
  return {
    get now(): Isolation {
      return now
    },
    /** Why no job is taken; null: jobs are taken. */
    get problem(): string | null {
      return now.kind === 'unavailable' ? now.problem : null
    },
    /** How jobs are kept apart, in a word. */
    word: (): string => isolationWord(now),
    /** Most playbooks at once; 0: isolation sets no limit. */
    maxJobs: (): number => (now.kind === 'user' ? now.orders.users.length : 0),
    /** Tries whether isolation works here, unless that is known already. */
    async prepare(): Promise<void> {
      if (now.kind === 'unavailable') now = await openIsolation(settings.isolation, hostNow(), log)
    },
    /** Frees the user that a job had. Returns sentences about what could not be ended or removed. */
    release: (jobFolder: string): Promise<string[]> => releaseUser(jobFolder, hostNow()),
  }
}
