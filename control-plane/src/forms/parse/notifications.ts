import type { FormNotifications } from '../form.js'
import { LimitProblem } from './limits.js'

/** The ends of jobs for which a form may ask notifications. `any` means all of them. */
const STATUSES = ['any', 'success', 'failed', 'aborted', 'warning', 'rejected', 'abandoned'] as const
/** The actions of people for which a form may ask notifications. */
const EVENTS = ['any', 'launch', 'relaunch', 'delete', 'approve', 'reject'] as const
const MAX_ENTRIES = 50
const MAX_CHARACTERS = 320

/**
 * Reads `notifications` of a form. Without `onStatus` and `onEvent`, there are notifications for every end.
 * @throws LimitProblem with the path of the mistake
 */
export function parseNotifications(given: unknown): FormNotifications | null {
  if (given === undefined || given === null) return null
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw problem([], 'must be an object with recipients or channels', given)
  }
  const { recipients, channels, onStatus, onEvent, ...others } = given as Readonly<Record<string, unknown>>
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    throw problem([unknown], 'is unknown: there are recipients, channels, onStatus and onEvent', others[unknown])
  }
  const statuses = words('onStatus', onStatus, STATUSES)
  const events = words('onEvent', onEvent, EVENTS)
  const receivers = { recipients: texts('recipients', recipients), channels: texts('channels', channels) }
  if (receivers.recipients.length === 0 && receivers.channels.length === 0)
    throw problem([], 'needs recipients or channels', given)
  return { ...receivers, onStatus: statuses.length + events.length === 0 ? ['any'] : statuses, onEvent: events }
}

/** A list of texts, or one text. */
function texts(name: string, given: unknown): string[] {
  const list = given === undefined || given === null ? [] : Array.isArray(given) ? (given as unknown[]) : [given]
  if (list.length > MAX_ENTRIES) throw problem([name], `may have ${MAX_ENTRIES} entries`, list.length)
  return list.map((one) => {
    if (typeof one === 'string' && one.trim() !== '' && one.length <= MAX_CHARACTERS) return one.trim()
    throw problem([name], `must be texts of at most ${MAX_CHARACTERS} characters`, one)
  })
}

function words(name: string, given: unknown, known: readonly string[]): string[] {
  const list = texts(name, given)
  const wrong = list.find((one) => !known.includes(one))
  if (wrong !== undefined) throw problem([name], `may have ${known.join(', ')}`, wrong)
  return list
}

function problem(below: readonly string[], what: string, given: unknown): LimitProblem {
  const path = ['notifications', ...below]
  return new LimitProblem(path, `${path.join('.')} ${what}, not ${JSON.stringify(given)}`)
}
