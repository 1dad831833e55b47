import type { EndRecord, StreamName } from '@holdfast/protocol'
import { setTimeout as delay } from 'node:timers/promises'
import { identifyProcess, lookAtProcess } from '../host/processes.js'
import { removeTree } from '../host/remove-tree.js'
import { createDurably } from '@holdfast/host/durable'
import { isErrno } from '@holdfast/host/system-errors'
import type { JobFolder, JobFileName } from './job-folder.js'
import { type FileHash, hashFile } from './stream-file.js'

/** What the agent knows about the end of a job that has no supervisor to write it. */
export type KnownEnd = Pick<EndRecord, 'cause' | 'message'> &
  Partial<Pick<EndRecord, 'exit_code' | 'signal' | 'started_at' | 'ended_at'>>

const MESSAGE_LIMIT = 4000
/** Pause between two looks, in milliseconds. What neither look finds is known not to be there. */
const LOOK_AGAIN_MS = 100

/** Something could not be read. Nothing is decided because of that. It is tried again. */
export class UnsureError extends Error {
  override readonly name = 'UnsureError'
}

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
 * @returns the end that counts: one that was there before is never replaced
 * @throws UnsureError, and the system's error: it is tried again, however long that takes
 */
export async function writeAgentEnd(folder: JobFolder, known: KnownEnd, now: Date): Promise<EndRecord> {
  const record = await agentEndOf(folder, known, now)
  if (await withRoom(folder, () => createDurably(folder.file('end.json'), JSON.stringify(record)))) return record
  const end = folder.end()
  if (end.kind === 'present') return end.content
  // What is there cannot be read and stays. The next agent comes to the same result.
  if (end.kind === 'torn') return record
  throw new UnsureError('end.json is there and cannot be read')
}

/**
 * Writes an end that is only in the second place into the folder, too, if the folder is still there.
 * @throws the system's error: it is tried again when the disk may take it
 */
export async function keepEnd(folder: JobFolder, record: EndRecord): Promise<void> {
  if (folder.lookAround().kind === 'absent') return
  await withRoom(folder, () => createDurably(folder.file('end.json'), JSON.stringify(record)))
}

/**
 * The end of a job as its folder tells it, without writing it.
 * @throws UnsureError, and the system's error, when the folder cannot be read
 */
export async function agentEndOf(folder: JobFolder, known: KnownEnd, now: Date): Promise<EndRecord> {
  const [output, events] = await Promise.all([hashStream(folder, 'output'), hashStream(folder, 'events')])
  const callback = folder.callback()
  if (callback.kind === 'unknown') throw new UnsureError(`callback.json cannot be read: ${callback.code}`)
  const abort = folder.look('abort.json')
  if (abort.kind === 'unknown') throw new UnsureError(`abort.json cannot be looked at: ${abort.code}`)
  const { errors, dropped } = callback.kind === 'present' ? callback.content : { errors: 0, dropped: 0 }
  const said = [known.message, unreadable('output', output), unreadable('events', events)].filter((part) => part)
  return {
    exit_code: null,
    signal: null,
    started_at: null,
    ended_at: now.toISOString(),
    ...known,
    run_id: folder.key.runId,
    message: said.length === 0 ? null : said.join('; ').slice(0, MESSAGE_LIMIT),
    aborted: known.cause === 'aborted' || abort.kind === 'present',
    output: { length: output.length, sha256: output.sha256, dropped_bytes: 0 },
    events: {
      length: events.length,
      sha256: events.sha256,
      dropped,
      errors,
      // Events are a stronger sign than a report that could not be written, such as on a full disk.
      plugin_seen: callback.kind !== 'absent' || events.length > 0,
    },
  }
}

/**
 * Makes an end record agree with the files again, when a file lost its tail or was changed after the end was written (a
 * power loss, a broken disk). The new record says how much was lost. It is not written: end.json keeps what the
 * supervisor knew, and each later agent finds the damage again.
 * @returns the record as it was when it agrees, else the new one
 * @throws UnsureError, and the system's error, when the files cannot be read
 */
export async function amendEnd(folder: JobFolder, record: EndRecord): Promise<EndRecord> {
  const output = await hashStream(folder, 'output', record.output.length)
  const events = await hashStream(folder, 'events', record.events.length)
  if (output.sha256 === record.output.sha256 && events.sha256 === record.events.sha256) return record
  const lostOutput = record.output.length - output.length
  const lostEvents = record.events.length - events.length
  const damage =
    lostOutput + lostEvents > 0
      ? `the spool was damaged after the end: ${lostOutput} bytes of output and ${lostEvents} of events are gone`
      : 'the spool was changed after the end'
  return {
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
}

const FILES: Readonly<Record<StreamName, JobFileName>> = { output: 'output.log', events: 'events.jsonl' }

/** A stream whose file is missing is empty, if it is certain that the file is missing. */
async function hashStream(folder: JobFolder, stream: StreamName, limit = Infinity): Promise<FileHash> {
  const name = FILES[stream]
  const found = await hashFile(folder.file(name), limit)
  if (found.isThere) return found
  // It is certain when two looks found no file while the folder could be read.
  for (let look = 0; look < 2; look += 1) {
    if (look > 0) await delay(LOOK_AGAIN_MS)
    const around = folder.lookAround()
    if (around.kind === 'unknown') throw new UnsureError(`the folder of the job cannot be looked at: ${around.code}`)
    if (around.kind === 'present' && folder.look(name).kind !== 'absent')
      throw new UnsureError(`${name} is there again`)
  }
  return found
}

function unreadable(stream: string, { problem }: FileHash): string | null {
  return problem === null ? null : `the ${stream} in the spool cannot be read (${problem})`
}

/** An end must be written on a full disk, too. Removing the work folder of the job makes room; nobody needs it any more. */
async function withRoom<Result>(folder: JobFolder, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    if (!isErrno(error, 'ENOSPC', 'EDQUOT') || !isRoomFree(folder)) throw error
    await removeTree(folder.file('work'))
    return write()
  }
}

/** True when nobody works in the work folder: nothing was started, or it is known how it ended. */
function isRoomFree(folder: JobFolder): boolean {
  const started = folder.started()
  return (
    started.kind === 'absent' ||
    (started.kind === 'present' && ['gone', 'other'].includes(lookAtProcess(started.content)))
  )
}
