import type { EndRecord } from '@holdfast/protocol'
import { rm } from 'node:fs/promises'
import { identifyProcess } from '../processes.js'
import { createDurably, writeDurably } from './durable.js'
import type { JobFolder } from './job-folder.js'
import { hashFile } from './stream-file.js'

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

/** Writes the end of a job whose streams nobody writes any more: their lengths and hashes are taken as they are. */
export async function writeAgentEnd(
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
  const record: EndRecord = {
    run_id: folder.key.runId,
    cause,
    exit_code: null,
    signal: null,
    message: message.slice(0, MESSAGE_LIMIT),
    aborted: cause === 'aborted' || folder.abortAsked(),
    started_at: null,
    ended_at: now.toISOString(),
    output: { ...output, dropped_bytes: 0 },
    events: { ...events, dropped, errors, plugin_seen: callback !== 'absent' },
  }
  await writeEnd(folder, record)
  return record
}

/**
 * Makes an end record agree with the files again, when a file lost its tail or was changed after the end was written
 * (a power loss, a broken disk). What was lost is counted and said.
 * @returns the record as it was when it agrees, else the new one, which is on disk
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
    output: { ...output, dropped_bytes: record.output.dropped_bytes + lostOutput },
    events: { ...record.events, ...events, dropped: record.events.dropped + (lostEvents > 0 ? 1 : 0) },
  }
  await writeEnd(folder, amended)
  return amended
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
