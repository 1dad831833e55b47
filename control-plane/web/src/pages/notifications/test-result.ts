import type { Notification } from '@holdfast/client'
import { told } from '../../live/action.js'
import { words } from '../../words/en.js'
import { notificationWords as text } from '../../words/en-notifications.js'

/** Says that a test has arrived. @throws Error for people when it has not, with the reason of the receiver */
export function expectArrived({ state, recipient, problem }: Notification): void {
  if (state !== 'sent') throw new Error(text.notArrived(recipient, problem ?? words.none))
  told.value = { kind: 'done', text: text.arrived(recipient) }
}
