import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { AgentProcess } from './agent-process.js'
import { createSetting, type Setting } from './setting.js'
import { waitUntil } from './waiting.js'

/** `uids`: users that no host has. Each test names others, because two agents must not share them. */
export interface IsolatedSetting extends Setting {
  readonly uids: readonly number[]
  /** Starts an agent whose jobs have users of their own. `through`: a program that is to start it. */
  joinIsolated(environment?: Record<string, string>, through?: readonly string[]): Promise<AgentProcess>
  /** The own folder of a user's jobs. */
  ownFolder(uid: number, name: string): string
}

/** A setting in which jobs can have users of their own; the test ends with nothing left of them. */
export async function createIsolatedSetting(firstUid: number, count = 2): Promise<IsolatedSetting> {
  const setting = await createSetting()
  const uids = Array.from({ length: count }, (_, index) => firstUid + index)
  // As the folders above a real state folder are: others may pass.
  chmodSync(setting.folder, 0o711)
  const range = `${firstUid}..${firstUid + count - 1}`
  onTestFinished(() => {
    for (const pid of processesOfUsers(uids)) process.kill(pid, 'SIGKILL')
  })
  return {
    ...setting,
    uids,
    joinIsolated: (environment = {}, through = []) =>
      setting.join({ RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: range, ...environment }, through),
    ownFolder: (uid, name) => join(setting.statePath, 'users', String(uid), name),
  }
}

/** Living processes of any of these users. */
export function processesOfUsers(uids: readonly number[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const [, state = '', uid = ''] = /^State:\s+(\S)[^]*^Uid:\s+(\d+)/m.exec(statusOf(pid)) ?? []
      return !['', 'Z', 'X'].includes(state) && uids.includes(Number(uid))
    })
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'latin1')
  } catch {
    return ''
  }
}

export async function nothingRunsOf(uids: readonly number[]): Promise<void> {
  await waitUntil('nothing runs of the users of jobs', () => processesOfUsers(uids).length === 0)
}

/** What starts an agent that is not root and may act for others by its rights alone, as a unit with capabilities does. */
export function unprivilegedAgent(setting: Setting, uid: number): readonly string[] {
  mkdirSync(setting.statePath, { mode: 0o700 })
  chownSync(setting.statePath, uid, uid)
  const rights = '+setuid,+setgid,+chown,+kill'
  return [
    'setpriv',
    '--reuid',
    String(uid),
    '--regid',
    String(uid),
    '--clear-groups',
    '--inh-caps',
    rights,
    '--ambient-caps',
    rights,
  ]
}
