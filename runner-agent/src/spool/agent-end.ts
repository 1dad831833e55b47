import type { EndRecord } from '@holdfast/protocol'
import { rm } from 'node:fs/promises'
import { identifyProcess } from '../processes.js'
import { createDurably, isErrno, isUnreadable, writeDurably } from './durable.js'
import type { JobFolder } from './job-folder.js'
import { type FileHash, hashFile } from './stream-file.js'

/** Ends that the agent writes because there is no supervisor to do it. */
export type AgentEndCause = 'not_started' | 'aborted' | 'supervisor_lost' | 'host_rebooted'

const MESSAGE_LIMIT = 4000

/**
 * Takes the start of a job, so that no supervisor can start it any more.
 * @returns false when a supervisor has it already
 */
export async function takeStart(folder: JobFolder, now: Date): Promise<boolean> {
  const started = { ...identifyProcess(process.pid), by: 'agent', time: now.toISOString() }
  return withRoom(folder, () => createDurably(folder.file('started.json'), JSON.stringify(started)))
}

/**
 * Writes the end of a job whose streams nobody writes any more: their lengths and hashes are taken as they are.
 * @throws the system's error when it may be another one soon: a full disk, a folder that was removed
 */
export async function writeAgentEnd(
  folder: JobFolder,
  cause: AgentEndCause,
  message: string,
  now: Date,
): Promise<EndRecord> {
  const record = await agentEndOf(folder, cause, message, now)
  try {
    await writeEnd(folder, record)
  } catch (error) {
    // Nothing can be written here, now or later: the app hears of the end all the same. The next agent finds it again.
    if (!isUnreadable(error) || isErrno(error, 'ENOENT')) throw error
  }
  return record
}

/** The end of a job as its folder tells it, without writing it. */
export async function agentEndOf(
  folder: JobFolder,
  cause: AgentEndCause,
  message: string,
  now: Date,
): Promise<EndRecord> {
  const [output, events] = await Promise.all([
    hashFile(folder.file('output.log')),
    hashFile(folder.file('events.jsonl')),
  ])
  const callback = folder.callback()
  const { errors, dropped } = typeof callback === 'string' ? { errors: 0, dropped: 0 } : callback
  const said = [message, unreadable('output', output), unreadable('events', events)].filter((part) => part !== null)
  return {
    run_id: folder.key.runId,
    cause,
    exit_code: null,
    signal: null,
    message: said.join('; ').slice(0, MESSAGE_LIMIT),
    aborted: cause === 'aborted' || folder.abortAsked(),
    started_at: null,
    ended_at: now.toISOString(),
    output: { length: output.length, sha256: output.sha256, dropped_bytes: 0 },
    events: { length: events.length, sha256: events.sha256, dropped, errors, plugin_seen: callback !== 'absent' },
  }
}

/**
 * Makes an end record agree with the files again, when a file lost its tail or was changed after the end was written
 * (a power loss, a broken disk). What was lost is counted and said.
 * @returns the record as it was when it agrees, else the new one. It is written, too; where that cannot be done (the
 *   folder was removed, the disk is full) the next agent finds out the same.
 */
export async function amendEnd(folder: JobFolder, record: EndRecord): Promise<EndRecord> {
  const output = await hashFile(folder.file('output.log'), record.output.length)
  const events = await hashFile(folder.file('events.jsonl'), record.events.length)
  if (output.sha256 === record.output.sha256 && events.sha256 === record.events.sha256) return record
  const lostOutput = record.output.length - output.length
  const lostEvents = record.events.length - events.length
  const damage =
    lostOutput + lostEvents > 0
      ? `the spool was damaged after the end: ${lostOutput} bytes of output and ${lostEvents} of events are gone`
      : 'the spool was changed after the end'
  const amended: EndRecord = {
    ...record,
    message: (record.message === null ? damage : `${record.message}; ${damage}`).slice(0, MESSAGE_LIMIT),
    output: { length: output.length, sha256: output.sha256, dropped_bytes: record.output.dropped_bytes + lostOutput },
    events: {
      ...record.events,
      length: events.length,
      sha256: events.sha256,
      dropped: record.events.dropped + (lostEvents > 0 ? 1 : 0),
    },
  }
  await writeEnd(folder, amended).catch(() => undefined)
  return amended
}

function unreadable(stream: string, { problem }: FileHash): string | null {
  return problem === null ? null : `the ${stream} in the spool cannot be read (${problem})`
}

async function writeEnd(folder: JobFolder, record: EndRecord): Promise<void> {
  await withRoom(folder, () => writeDurably(folder.file('end.json'), JSON.stringify(record)))
}

/** An end must get through on a full disk too: the job's work folder is of no use any more and makes room. */
async function withRoom<Result>(folder: JobFolder, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write()
  } catch {
    await rm(folder.file('work'), { recursive: true, force: true })
    return write()
  }
}
