import type { NotificationList } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { useAgain } from '../../live/again.js'
import { type Answer, useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'

/** The states by which the list can be filtered. */
export const STATES = ['waiting', 'sent', 'failed'] as const
type State = (typeof STATES)[number]

/** So many are shown at first, and at most. */
const FIRST = 50
const MAX_RECORDS = 1000

/** The newest notifications, in one state or in all. */
export interface DeliveryList {
  readonly answer: Answer<NotificationList>
  readonly state: State | null
  show(state: State | null): void
  /** Shows more of them; null: there are no more. */
  readonly more: (() => void) | null
}

/** Reads the newest notifications. While some of them wait, it reads them again and again. */
export function useDeliveries(): DeliveryList {
  const [state, setState] = useState<State | null>(null)
  const [records, setRecords] = useState(FIRST)
  const answer = useAnswer(`notifications/${state ?? ''}/${records}`, ['jobs', 'runners'], (signal) =>
    api.listNotifications({ ...(state === null ? {} : { state }), records }, { signal }),
  )
  const shown = answer.value?.records ?? []
  useAgain(
    answer.reload,
    shown.some((one) => one.state === 'waiting'),
  )
  const isFull = shown.length === records && records < MAX_RECORDS
  return { answer, state, show: setState, more: isFull ? () => setRecords(MAX_RECORDS) : null }
}
