import type { EndRecord } from '@holdfast/protocol'
import { findSupervisors, markedProcesses } from '../playbook/process-tree.js'
import { waitingOf } from '../playbook/supervisor.js'
import { ABSENT, codeOf, type Fact, present, unknown } from '../host/fact.js'
import { lookAtProcess } from '../host/processes.js'
import { type Claim, type Exit, folderNameOf, type JobFolder, type Started } from '../spool/job-folder.js'
import type { SupervisorWatch } from '../spool/supervisor-watch.js'

/** What one look at a job has found: at its folder, and at the processes that belong to it. */
export interface JobFacts {
  /** `present` only when it was the same folder before and after everything else was looked at; its inode. */
  readonly folder: Fact<string>
  readonly started: Fact<Started>
  /** `none`: no process was started for this job, as far as this look can tell. */
  readonly supervisor: 'none' | 'alive' | 'gone' | 'unknown'
  /** As the folder of the job says it, or else the second place. */
  readonly end: Fact<EndRecord>
  readonly abort: Fact<string>
  /** What a supervisor at work says that it waits for; null: nothing. */
  readonly waitsFor: string | null
  // The facts below are looked at only when no supervisor is at work. Else they are `unknown`.
  readonly forced: Fact<string>
  /** As the folder of the job says it, or else the second place. */
  readonly exit: Fact<Exit>
  readonly claim: Fact<Claim>
  /** Pids of what runs of the job; looked for when its folder is not there, or how its playbook ends cannot be told. */
  readonly rest: Fact<readonly number[]>
}

/** What this process knows about the supervisor that it started itself. When that has ended, a sentence says how. */
export type SupervisorChild = 'none' | 'running' | { readonly how: string }

const NOT_LOOKED = unknown('it was not looked at')

/**
 * Looks at a job. It never throws: what cannot be looked at is `unknown`. The supervisor is looked at before the end, because
 * a supervisor that is gone wrote its end before it went.
 * @param known what started.json said in an earlier look: it never changes
 */
export function readFacts(
  folder: JobFolder,
  known: Started | null,
  child: SupervisorChild,
  watch: Pick<SupervisorWatch, 'look' | 'lookAtTorn'>,
): JobFacts {
  const before = folder.lookAround()
  const started = known === null ? folder.started() : present(known)
  const supervisor = supervisorOf(folder, started, child, watch)
  const end = orSecond(folder.end(), folder.second.end)
  const abort = folder.look('abort.json')
  const isAtWork = end.kind === 'present' || supervisor === 'alive' || supervisor === 'unknown'
  const exit = isAtWork ? NOT_LOOKED : orSecond(folder.exit(), folder.second.exit)
  const rest = {
    forced: isAtWork ? NOT_LOOKED : folder.look('abort-forced.json'),
    exit,
    claim: isAtWork || started.kind !== 'absent' ? NOT_LOOKED : folder.claim(),
    rest: isAtWork ? NOT_LOOKED : before.kind === 'absent' ? restOf(folder) : playbookOf(folder, started, exit),
  }
  const waitsFor = supervisor === 'alive' && end.kind !== 'present' ? waitingOf(folder) : null
  return { folder: sameFolder(before, folder.lookAround()), started, supervisor, end, abort, waitsFor, ...rest }
}

/** What the second place says counts when the first one says nothing. What cannot be looked at may be there. */
function orSecond<Content>(first: Fact<Content>, look: () => Fact<Content>): Fact<Content> {
  if (first.kind === 'present') return first
  const second = look()
  return second.kind === 'present' || (second.kind === 'unknown' && first.kind !== 'unknown') ? second : first
}

/** When the folder came or went during the look, "it is not there" says nothing: the folder counts as `unknown`. */
function sameFolder(before: Fact<string>, after: Fact<string>): Fact<string> {
  if (before.kind === 'unknown') return before
  if (before.kind !== after.kind) return after.kind === 'unknown' ? after : unknown('it came or went just now')
  if (before.kind === 'present' && after.kind === 'present' && before.content !== after.content) {
    return unknown('another folder took its place just now')
  }
  return after
}

function supervisorOf(
  folder: JobFolder,
  started: Fact<Started>,
  child: SupervisorChild,
  watch: Pick<SupervisorWatch, 'look' | 'lookAtTorn'>,
): JobFacts['supervisor'] {
  if (started.kind === 'present')
    return started.content.by === 'agent' ? 'none' : stateOf(folder, started.content, watch)
  // It has not written started.json yet. It may be slow (a suspended machine) and start the playbook later.
  if (child === 'running') return 'alive'
  if (started.kind === 'unknown') return 'unknown'
  if (started.kind === 'absent') return child === 'none' ? 'none' : 'gone'
  try {
    if (findSupervisors(folderNameOf(folder.key)).length > 0) return 'alive'
    // The file is damaged. In another PID namespace only the lock on it shows the supervisor.
    const state = watch.lookAtTorn(folder)
    return state === 'runs' ? 'alive' : state
  } catch {
    return 'unknown'
  }
}

function stateOf(
  folder: JobFolder,
  started: Started,
  watch: Pick<SupervisorWatch, 'look' | 'lookAtTorn'>,
): 'alive' | 'gone' | 'unknown' {
  try {
    const state = watch.look(folder, started)
    // The keeper is gone. The supervisor goes on without it.
    if (state === 'gone' && findSupervisors(folderNameOf(folder.key)).length > 0) return 'alive'
    return state === 'runs' ? 'alive' : state
  } catch {
    return 'unknown'
  }
}

/** What runs of a playbook that has lost its supervisor and its keeper, and has not ended as far as its folder knows. */
function playbookOf(folder: JobFolder, started: Fact<Started>, exit: Fact<Exit>): Fact<readonly number[]> {
  if (exit.kind === 'present' || (started.kind === 'present' && started.content.by === 'agent')) return ABSENT
  if (started.kind === 'absent') return ABSENT
  const playbook = folder.playbook()
  if (playbook.kind === 'unknown') return playbook
  // Nobody could say who it is. So everything that carries the marks of the job counts.
  if (playbook.kind !== 'present') return restOf(folder)
  try {
    // One in another PID namespace cannot be seen from here, and not be ended either. Mostly it has ended with its container.
    return lookAtProcess(playbook.content) === 'runs' ? present([playbook.content.pid]) : ABSENT
  } catch (error) {
    return unknown(codeOf(error))
  }
}

function restOf(folder: JobFolder): Fact<readonly number[]> {
  try {
    const supervisors = findSupervisors(folderNameOf(folder.key)).map(({ pid }) => pid)
    const pids = [...supervisors, ...markedProcesses(folder.key.runId)]
    return pids.length === 0 ? ABSENT : present(pids)
  } catch (error) {
    return unknown(codeOf(error))
  }
}
