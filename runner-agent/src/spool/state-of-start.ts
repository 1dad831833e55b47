import type { EndRecord } from '@holdfast/protocol'
import { dirname } from 'node:path'
import * as v from 'valibot'
import { readFact } from '../host/fact.js'
import { folderNameOf, type JobFolder } from './job-folder.js'

/** The part of `supervisor.json` that has a path of the job's folder as it was at the start. */
const ordersSchema = v.object({ env: v.object({ HOLDFAST_EVENTS_FILE: v.string() }) })

const MESSAGE_LIMIT = 4000

/** The path of the state folder when the job was started. Ansible looks for its files below it. Null: it is not known. */
export function stateFolderAtStart(folder: JobFolder): string | null {
  const orders = readFact(folder.file('supervisor.json'), ordersSchema)
  if (orders.kind !== 'present') return null
  const path = orders.content.env.HOLDFAST_EVENTS_FILE
  const end = `/spool/jobs/${folderNameOf(folder.key)}/events.jsonl`
  return path.startsWith('/') && path.endsWith(end) ? path.slice(0, -end.length) : null
}

/** The path of the state folder that a job's folder is in now. */
function stateFolderNow(folder: JobFolder): string {
  return dirname(dirname(dirname(folder.path)))
}

/**
 * Says in the end of a playbook that failed that the state folder has another path than at its start: ansible may have
 * failed because of it. The record is not written. Each later agent adds the same words.
 */
export function withMove(end: EndRecord, folder: JobFolder): EndRecord {
  if (end.cause !== 'exited' || end.exit_code === 0) return end
  const before = stateFolderAtStart(folder)
  const now = stateFolderNow(folder)
  if (before === null || before === now) return end
  const move = `when the playbook was started, the state folder was ${before}, and now it is ${now}`
  return { ...end, message: (end.message === null ? move : `${end.message}; ${move}`).slice(0, MESSAGE_LIMIT) }
}
