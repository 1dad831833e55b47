import type { EndRecord } from '@holdfast/protocol'
import type { KnownEnd } from '../spool/agent-end.js'
import type { Fact } from '../host/fact.js'
import type { Claim, Exit } from '../spool/job-folder.js'
import type { JobFacts, SupervisorChild } from './facts.js'

/** What an agent remembers of a job beside its folder. A new agent begins without any of it, and that is enough. */
export interface JobMemory {
  readonly bootId: string
  /** What the look before this one found; null: there was none. */
  readonly before: JobFacts | null
  readonly child: SupervisorChild
  readonly abort: AbortMemory | null
  readonly abortTimeouts: AbortTimeouts
  /** The end for which this process took the start and that is not written yet. */
  readonly unstarted: KnownEnd | null
  /** Why the folder cannot be written, after too many failed writes for a job that was never started; else null. */
  readonly unwritable: string | null
}

/** An abort that somebody asked for. */
export interface AbortMemory {
  /** Since when, in milliseconds. */
  readonly askedMs: number
  /** For how many milliseconds the supervisor has known of it; null: it could not be told. */
  readonly toldMs: number | null
  /** What was ended last without waiting for the supervisor, and how many milliseconds ago; null: nothing was. */
  readonly forced: { readonly supervisor: boolean; readonly ms: number } | null
}

/** After how many milliseconds an abort no longer waits for the supervisor. */
export interface AbortTimeouts {
  /** The processes of the job are ended in its place. */
  readonly processesMs: number
  /** It is ended as well. */
  readonly supervisorMs: number
}

/**
 * A supervisor that works sends SIGKILL after 15 s. After 45 s it gives up on processes that cannot be ended, and writes the
 * end. A supervisor that does not is stuck.
 */
export const ABORT_TIMEOUTS: AbortTimeouts = { processesMs: 25_000, supervisorMs: 60_000 }

/** What happens next with a job; nothing of it has happened yet. */
export type Step =
  /** Waits for the next look. `because`: what keeps the job from going on; null: nothing does. */
  | { readonly do: 'wait'; readonly because: string | null }
  /** The end is there: its streams and it go to the control plane. */
  | { readonly do: 'follow'; readonly end: EndRecord }
  | { readonly do: 'start'; readonly claim: Claim }
  /** Takes the start, so that nobody starts it any more, and writes the end. */
  | { readonly do: 'end unstarted'; readonly end: KnownEnd }
  /** Ends the processes that it still has, and writes the end. */
  | { readonly do: 'end lost'; readonly end: KnownEnd; readonly wasStarted: boolean }
  /** Notes outside of its folder that it is over. */
  | { readonly do: 'give up'; readonly problem: string }
  | { readonly do: 'ask abort' }
  /** Ends the processes of the job without waiting for its supervisor; the supervisor, too, or not. */
  | { readonly do: 'force abort'; readonly supervisor: boolean }
  /** The folder was removed for good and no process of the job runs. So nobody can say any more how it ended. */
  | { readonly do: 'report removed' }

/** A supervisor is told again after so long, in milliseconds: it may have missed the first word. */
const TELL_AGAIN_MS = 5_000
/** Processes that could not be ended are tried again after so long, in milliseconds. */
const FORCE_AGAIN_MS = 10_000

const OF_NOBODY = 'the agent was ended while it ended this job before its start'

/**
 * Decides how a job goes on. Pure: the same facts and the same memory lead to the same step.
 *
 * An end must come from knowledge. Nothing follows from a fact that is `unknown`. "It is not there" counts only when two
 * looks in a row found that, with the folder readable. The agent ends a playbook only when somebody asked for it. One that
 * has lost its supervisor goes on, although nobody can say how it ends. What it leaves behind is ended, as always.
 */
export function decide(facts: JobFacts, memory: JobMemory): Step {
  if (facts.end.kind === 'present') return { do: 'follow', end: facts.end.content }
  if (facts.supervisor === 'alive' || facts.supervisor === 'unknown') return decideRunning(facts, memory)
  if (facts.folder.kind === 'unknown' || facts.folder.kind === 'torn') return decideOutOfSight(facts, memory)
  if (facts.folder.kind === 'absent') return decideRemoved(facts, memory)
  if (facts.end.kind === 'unknown') return wait(`end.json cannot be read: ${facts.end.code}`)
  return facts.started.kind === 'absent' ? decideUnstarted(facts, memory) : decideLost(facts, memory)
}

/**
 * The supervisor runs, or may run. So the playbook goes on, whatever the folder says, until somebody asks for an abort.
 */
function decideRunning(facts: JobFacts, { abort, before, abortTimeouts }: JobMemory): Step {
  if (abort !== null) {
    // Without its folder the supervisor cannot hear of the abort.
    const isDeaf = isSure(facts, before) && facts.folder.kind === 'absent'
    const step = isDeaf ? force(abort, true) : decideForce(facts, abort, abortTimeouts)
    if (step !== null) return step
    if (abort.toldMs === null || abort.toldMs >= TELL_AGAIN_MS) return { do: 'ask abort' }
  }
  if (facts.folder.kind === 'absent') return wait('its folder is not there; the playbook goes on')
  if (facts.supervisor === 'unknown') {
    return wait(`started.json or the supervisor cannot be looked at${unknownCodeOf(facts.started)}`)
  }
  if (facts.folder.kind === 'unknown') return wait(`its folder cannot be looked at: ${facts.folder.code}`)
  if (facts.end.kind === 'unknown') return wait(`end.json cannot be read: ${facts.end.code}`)
  if (isCopy(facts)) return wait('its folder is a copy: the playbook goes on and writes into another one')
  return wait(facts.waitsFor === null ? null : `its supervisor waits: ${facts.waitsFor}`)
}

/** An abort. It does not wait for ever for a supervisor that is stuck or cannot be told. */
function decideForce(facts: JobFacts, abort: AbortMemory, abortTimeouts: AbortTimeouts): Step | null {
  if (abort.askedMs >= abortTimeouts.supervisorMs) return force(abort, true)
  if (abort.askedMs < abortTimeouts.processesMs) return null
  // A supervisor that does not know of the abort would write another end.
  return force(abort, facts.abort.kind !== 'present')
}

function force(abort: AbortMemory, supervisor: boolean): Step | null {
  const { forced } = abort
  const isTried = forced !== null && (forced.supervisor || !supervisor) && forced.ms < FORCE_AGAIN_MS
  return isTried ? null : { do: 'force abort', supervisor }
}

/** The spool is away (its disk is not mounted), or the folder cannot be looked at: that says nothing about the job. */
function decideOutOfSight(facts: JobFacts, { abort, abortTimeouts }: JobMemory): Step {
  const step = abort !== null && abort.askedMs >= abortTimeouts.processesMs ? force(abort, true) : null
  return step ?? wait(`its folder cannot be looked at${unknownCodeOf(facts.folder)}`)
}

/** Somebody has removed the folder. The processes of the job go on, unless somebody has asked for its end. */
function decideRemoved(facts: JobFacts, { abort, before }: JobMemory): Step {
  if (!isSure(facts, before)) return wait(null)
  if (facts.rest.kind === 'absent') return before?.rest.kind === 'absent' ? { do: 'report removed' } : wait(null)
  const step = abort === null ? null : force(abort, true)
  return step ?? wait('its folder was removed; what runs of it goes on, and how it ends cannot be told')
}

function decideUnstarted(facts: JobFacts, memory: JobMemory): Step {
  const isAborted = memory.abort !== null || facts.abort.kind === 'present'
  // It is known and noted that the job was never started. So no later agent starts it.
  if (memory.unwritable !== null && isSure(facts, memory.before) && memory.before.started.kind === 'absent') {
    return { do: 'give up', problem: memory.unwritable }
  }
  if (facts.abort.kind === 'unknown') return wait(`abort.json cannot be looked at: ${facts.abort.code}`)
  if (typeof memory.child === 'object') {
    return unstarted(isAborted ? 'aborted' : 'not_started', memory.child.how)
  }
  if (isAborted) return unstarted('aborted', 'aborted before the playbook was started')
  const { claim } = facts
  // A claim that could not be opened now is no reason to fail the job.
  if (claim.kind === 'unknown') return wait(`claim.json cannot be read: ${claim.code}`)
  if (claim.kind !== 'present') {
    if (!isSure(facts, memory.before) || memory.before?.claim.kind !== claim.kind) return wait(null)
    return unstarted('not_started', `the claim of the job is ${claim.kind === 'torn' ? 'unreadable' : 'absent'}`)
  }
  if (claim.content.boot_id !== memory.bootId) {
    return unstarted('host_rebooted', 'the host was restarted before the playbook was started')
  }
  return { do: 'start', claim: claim.content }
}

/** There is no supervisor and no end. The end is made from what the folder says. */
function decideLost(facts: JobFacts, memory: JobMemory): Step {
  const { started, exit, forced, abort } = facts
  const { before } = memory
  if (!isSure(facts, before) || before?.end.kind !== facts.end.kind || before.started.kind !== started.kind) {
    return wait(null)
  }
  const unseen = [started, exit, forced, abort].find((fact) => fact.kind === 'unknown')
  if (unseen) return wait(`started.json, exit.json or abort.json cannot be read${unknownCodeOf(unseen)}`)
  if (started.kind === 'present' && started.content.by === 'agent') {
    const cause = abort.kind === 'present' ? 'aborted' : 'not_started'
    return { do: 'end lost', end: memory.unstarted ?? { cause, message: OF_NOBODY }, wasStarted: false }
  }
  if (exit.kind === 'present') return { do: 'end lost', end: endOfExit(exit.content, forced), wasStarted: true }
  if (before.exit.kind !== exit.kind) return wait(null)
  if (started.kind === 'present' && started.content.boot_id !== memory.bootId) {
    const message = 'the host was restarted while the playbook ran'
    return { do: 'end lost', end: { cause: 'host_rebooted', message }, wasStarted: true }
  }
  if (forced.kind === 'present' || (memory.abort !== null && memory.abort.forced !== null)) {
    const message = 'the supervisor did not end the playbook, so the agent did'
    return { do: 'end lost', end: { cause: 'aborted', message }, wasStarted: true }
  }
  const { rest } = facts
  if (rest.kind === 'unknown') return wait(`the playbook cannot be looked at: ${rest.code}`)
  if (rest.kind === 'present') {
    const step = memory.abort === null ? null : force(memory.abort, true)
    return step ?? wait('its supervisor was ended; the playbook goes on, and how it ends cannot be told')
  }
  if (before.rest.kind !== 'absent') return wait(null)
  const where = isCopy(facts) ? '; it wrote into another folder, of which this one is a copy' : ''
  const message = `the supervisor of the playbook was ended${where}`
  return { do: 'end lost', end: { cause: 'supervisor_lost', message }, wasStarted: true }
}

/** The supervisor was lost after ansible-playbook had ended, so it is known how ansible-playbook ended. */
function endOfExit(exit: Exit, forced: Fact<string>): KnownEnd {
  const { exit_code, signal, started_at, time, stopped } = exit
  const isOurs = stopped || (forced.kind === 'present' && signal === 'SIGKILL')
  const cause = isOurs ? 'aborted' : signal === null ? 'exited' : 'signaled'
  const message = 'the supervisor was ended after the playbook: what was printed last may be missing'
  return { cause, exit_code, signal, started_at, ended_at: time, message }
}

/** Whether this look and the one before found the same folder, and the same of its supervisor. */
function isSure(facts: JobFacts, before: JobFacts | null): before is JobFacts {
  return before?.supervisor === facts.supervisor && sameOf(facts.folder) === sameOf(before.folder)
}

function sameOf(folder: Fact<string>): string {
  return folder.kind === 'present' ? folder.content : folder.kind
}

function isCopy({ started, folder }: JobFacts): boolean {
  const inode = started.kind === 'present' ? started.content.inode : undefined
  return inode !== undefined && folder.kind === 'present' && folder.content !== inode
}

function wait(because: string | null): Step {
  return { do: 'wait', because }
}

function unstarted(cause: KnownEnd['cause'], message: string): Step {
  return { do: 'end unstarted', end: { cause, message } }
}

function unknownCodeOf(fact: Fact<unknown>): string {
  return fact.kind === 'unknown' ? `: ${fact.code}` : ''
}
