import { isoTime } from '../time/clock.js'
import type { NotificationEvent, ToldJob } from '../store/service/notification-events.js'
import type { TargetEvent } from './events.js'

/** Longest line, in characters. Longer texts of people are cut. */
const MAX_LINE = 300
/** Longest message of an approval, in characters. */
const MAX_TEXT = 4000

/** Makes the texts for receivers. They have no extra variables. No text of a person becomes a header or markup. */
export type NotificationWords = ReturnType<typeof createWords>

/**
 * Makes the {@link NotificationWords}.
 * @param publicUrl where browsers reach the console; null: unknown, so there are no links
 */
export function createWords(publicUrl: string | null) {
  const linkOf = (id: number) => (publicUrl === null ? null : `${publicUrl}/jobs/${id}`)
  return {
    /** The JSON of a webhook. It has the id of the delivery, so that a receiver can recognise a second copy. */
    bodyOf(uid: string, event: NotificationEvent, at: number): string {
      return JSON.stringify({ id: uid, event: eventNameOf(event), time: isoTime(at), ...contentOf(event, linkOf) })
    },
    mailOf(event: NotificationEvent): { readonly subject: string; readonly text: string } {
      const lines = event.kind === 'runner' ? runnerLines(event) : jobLines(event)
      const link = event.kind === 'runner' || isGone(event) ? null : linkOf(event.job.id)
      return {
        subject: line(`[Holdfast] ${titleOf(event)}`),
        text: [titleOf(event), '', ...lines, ...(link === null ? [] : ['', link]), ''].join('\n'),
      }
    },
  }
}

/** The name of an event as receivers see it. */
export function eventNameOf(event: NotificationEvent): TargetEvent | `job.${string}` {
  if (event.kind === 'approval') return 'job.approval'
  return `${event.kind}.${event.what}` as TargetEvent
}

const isGone = (event: NotificationEvent): boolean => event.kind === 'job' && event.what === 'delete'

function contentOf(event: NotificationEvent, linkOf: (id: number) => string | null): object {
  if (event.kind === 'runner') {
    const { id, name, host, ip, fingerprint } = event.runner
    return { runner: { id, name, host, ip, fingerprint } }
  }
  const job = { ...jobOf(event.job), url: linkOf(event.job.id) }
  if (event.kind === 'job') return { job }
  const { title, message, roles } = event
  return { job, approval: { title, message: message === null ? null : shortened(message, MAX_TEXT), roles } }
}

function jobOf(job: ToldJob): object {
  return {
    id: job.id,
    parent_id: job.parent,
    form: job.form,
    target: job.target,
    status: job.status,
    status_reason: job.reason === null ? null : shortened(job.reason, MAX_LINE),
    user: job.user,
    user_type: job.userType,
    runner: job.runner,
    start: isoTime(job.start),
    end: job.end === null ? null : isoTime(job.end),
  }
}

const DONE = {
  launch: 'was launched',
  relaunch: 'is launched again',
  approve: 'was approved',
  reject: 'was rejected',
  delete: 'was deleted',
} as const

function titleOf(event: NotificationEvent): string {
  if (event.kind === 'runner') {
    const what = { request: 'asks to join', lost: 'is lost', back: 'is back' }[event.what]
    return line(`Runner ${event.runner.name} ${what}`)
  }
  const { id, form, target, parent, status } = event.job
  const name = line(`Job ${id} (${parent === null ? form : `${form}, ${target}`})`)
  if (event.kind === 'approval') return `${name} waits for an approval`
  return event.what === 'ended' ? `${name}: ${status}` : `${name} ${DONE[event.what]}`
}

function jobLines(event: Exclude<NotificationEvent, { kind: 'runner' }>): string[] {
  const { job } = event
  const facts: [string, string | null][] = [
    ['Form', job.form],
    ['Step', job.parent === null ? null : job.target],
    ['Status', job.status],
    ['Reason', job.reason],
    ['User', job.user],
    ['Runner', job.runner],
    ['Start', isoTime(job.start)],
    ['End', job.end === null ? null : isoTime(job.end)],
  ]
  const lines = facts.flatMap(([name, value]) => (value === null ? [] : [line(`${name}: ${value}`)]))
  if (event.kind !== 'approval') return lines
  const { title, messageText: message, roles } = event
  const givers = roles.length === 0 ? 'an admin' : `${roles.join(', ')} or an admin`
  return [
    ...(title === null ? [] : [line(title)]),
    ...(message === null ? [] : [shortened(message, MAX_TEXT), '']),
    ...lines,
    line(`May approve: ${givers}`),
  ]
}

function runnerLines({ runner }: Extract<NotificationEvent, { kind: 'runner' }>): string[] {
  const { name, host, ip, fingerprint } = runner
  return [line(`Name: ${name}`), line(`Host: ${host}`), line(`Address: ${ip}`), line(`Fingerprint: ${fingerprint}`)]
}

/** One line without control characters: a line break in a subject would begin another header. */
function line(text: string): string {
  return shortened(text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' '), MAX_LINE)
}

function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}
