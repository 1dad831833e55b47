import * as v from 'valibot'
import type { Caller } from '../../auth/sessions/caller.js'
import { shownName } from '../../auth/sessions/shown-name.js'
import { EVERYONE_ROLE, isEveryone } from '../../auth/roles/roles.js'
import type { Approval } from '../../forms/form.js'
import { partOf } from '../../forms/values/plain.js'
import { fillMarkup } from '../../forms/values/fill-markup.js'
import { fillText, type Resolve } from '../../forms/values/placeholders.js'
import { type ApprovalGiver, insertAwaitedApproval } from '../../store/jobs/approvals.js'
import type { JobSummaryRow } from '../../store/jobs/jobs.js'
import { noteApproval } from '../../store/service/notification-events.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'
import type { Queries } from '../../store/store.js'
import { type ApprovalSubject, approvalSubjectSchema } from './approval-subject.js'

/**
 * The approval of a job, stored with the job as JSON. A job that needs an approval has the status `approve` and the
 * dispatch state `parked`. It is in no queue, so no runner can get it and nothing can fail it. It leaves this state
 * only once. After an approval it goes into the queue of its runner. After a rejection it has ended.
 */
const approvalSchema = v.object({
  title: v.nullable(v.string()),
  /** With the markup of its author. What was filled in is text. */
  message: v.nullable(v.string()),
  /** The same for readers of plain text. */
  message_text: v.nullable(v.string()),
  roles: v.array(v.string()),
  notifications: v.array(v.string()),
  allowSelf: v.boolean(),
  state: v.picklist(['waiting', 'approved', 'rejected']),
  decided_by: v.nullable(v.string()),
  decided_by_type: v.nullable(v.string()),
  /** The account of the person who decided. It is never shown. */
  decided_by_id: v.nullable(v.number()),
  decided_at: v.nullable(v.number()),
  /** What the approval is given for. */
  subject: approvalSubjectSchema,
  /** The approval was given although its subject had changed since it was asked for. */
  forced: v.boolean(),
})

/** The approval of a job, as it is stored. */
export type JobApproval = Readonly<v.InferOutput<typeof approvalSchema>>

/** Longest texts that are stored, in characters: they are in every list of jobs. */
const MAX_TITLE_LENGTH = 200
const MAX_MESSAGE_LENGTH = 4000

/** The approval of a stored job; null when none was asked for. */
export function approvalOf(job: Pick<JobSummaryRow, 'approval'>): JobApproval | null {
  if (job.approval === null) return null
  return v.parse(approvalSchema, JSON.parse(job.approval))
}

/**
 * The approval that a form, a step or a workflow node asks for, with the placeholders in its texts filled.
 * @param extravars masked, because whoever may approve need not see secrets
 * @param subject what the approval is given for, as it is now
 */
export function awaitedApproval(asked: Approval, extravars: unknown, subject: ApprovalSubject): JobApproval {
  const resolve: Resolve = (path) => {
    const value = partOf(extravars, path)
    return { known: value !== undefined, value }
  }
  return {
    title: asked.title === null ? null : shortened(oneLine(fillText(asked.title, resolve).text), MAX_TITLE_LENGTH),
    ...messageOf(asked.message, resolve),
    roles: [...asked.roles],
    notifications: [...asked.notifications],
    allowSelf: asked.allowSelf,
    ...UNDECIDED,
    subject,
  }
}

/** A message for readers of markup and for readers of text. What people filled in pushes out nothing of its author. */
function messageOf(asked: string | null, resolve: Resolve): Pick<JobApproval, 'message' | 'message_text'> {
  if (asked === null) return { message: null, message_text: null }
  const most = Math.max(0, MAX_MESSAGE_LENGTH - asked.length)
  return {
    message: shortened(fillMarkup(asked, resolve, most), MAX_MESSAGE_LENGTH),
    message_text: shortened(fillText(asked, resolve, most).text, MAX_MESSAGE_LENGTH),
  }
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ')

const UNDECIDED = {
  state: 'waiting',
  decided_by: null,
  decided_by_type: null,
  decided_by_id: null,
  decided_at: null,
  forced: false,
} as const

/** Asks for the approval of a job that the same write inserted or moved to `approve`. */
export async function askForApproval(
  queries: Queries,
  job: { readonly id: number; readonly target: string },
  approval: JobApproval,
  now: number,
): Promise<void> {
  const text = approval.message_text
  await noteApproval(queries, job.id, { ...approval, messageText: text }, now)
  // `public` is the old name of the role `default`. The table has one name for it.
  const roles = approval.roles.map((role) => (isEveryone(role) ? EVERYONE_ROLE : role))
  await insertAwaitedApproval(queries, job.id, { roles, allowSelf: approval.allowSelf })
  const banner = `APPROVE [${approval.title ?? job.target}] `
  const lines = [banner.padEnd(79, '*'), ...(text === null ? [] : [text])]
  await appendServiceLine(queries, job.id, [...lines, `Waiting for an approval by ${giversText(approval)}`].join('\n'))
}

/** Who may give an approval, in words. */
function giversText({ roles }: Pick<JobApproval, 'roles'>): string {
  if (roles.some(isEveryone)) return 'anyone'
  return roles.length === 0 ? 'an admin' : `${roles.join(', ')} or an admin`
}

/** Whether one of the caller's roles may give an approval. Admins may give every approval. */
export function hasApprovingRole(caller: Pick<Caller, 'isAdmin' | 'roles'>, approval: JobApproval | null): boolean {
  if (caller.isAdmin) return true
  return approval !== null && approval.roles.some((role) => isEveryone(role) || caller.roles.includes(role))
}

/** The caller as somebody who gives approvals; null for an admin, who may give every one. */
export function giverOf(caller: Caller): ApprovalGiver | null {
  return caller.isAdmin ? null : { id: caller.id, roles: caller.roles }
}

/** Who decided about an approval, as people read it; null: nobody has. */
export function deciderName({ decided_by: username, decided_by_type: type }: JobApproval): string | null {
  return username === null ? null : shownName({ username, type: type ?? 'local' })
}

/** An approval after somebody's decision. */
export function decided(
  approval: JobApproval,
  state: 'approved' | 'rejected',
  by: Pick<Caller, 'id' | 'username' | 'type'>,
  now: number,
): JobApproval {
  const decider = { decided_by: by.username, decided_by_type: by.type, decided_by_id: by.id }
  return { ...approval, state, ...decider, decided_at: now }
}

/** The same approval, asked for once more for the present content. */
export function askedAgain(approval: JobApproval, subject: ApprovalSubject): JobApproval {
  return { ...approval, ...UNDECIDED, subject }
}

/**
 * Shortens a text and escapes control characters. Users choose these values, and they must not send commands to the
 * terminal of a reader.
 */
function shortened(text: string, most: number): string {
  const printable = text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ')
  return printable.length > most ? `${printable.slice(0, most - 1)}…` : printable
}
