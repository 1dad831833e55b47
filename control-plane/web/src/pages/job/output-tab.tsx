import type { Job } from '@holdfast/client'
import lazy from 'preact-iso/lazy'
import { useLocation } from 'preact-iso/router'
import { useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { outputOf } from '../../live/job-output.js'
import { LogView } from '../../log/log-view.js'
import { words } from '../../words/en.js'

const more = () => import('./other-tabs.js')
const Pieces = lazy(() => more().then(({ Pieces: pieces }) => pieces))
const EventDialog = lazy(() => more().then(({ EventDialog: dialog }) => dialog))

/** The output of a job: all of it, or what the address names of it. */
export function OutputTab({ job: { id, streams, end } }: { readonly job: Job }) {
  const { query, route } = useLocation()
  const [event, setEvent] = useState<number | null>(null)
  const { host, outcome } = query
  const task = /^\d+$/.test(query.task ?? '') ? Number(query.task) : undefined
  const outcomes = outcome ? outcome.split(',') : []
  const view = {
    jobId: id,
    bytes: streams?.output.bytes ?? 0,
    events: streams?.events.count ?? 0,
    isOver: end !== null,
    isLimited: Boolean(host) || task !== undefined,
    outcomes,
    onOutcome(name: string) {
      const chosen = outcomes.includes(name) ? outcomes.filter((one) => one !== name) : [...outcomes, name]
      const next = new URLSearchParams(Object.entries(query).filter(([key]) => key !== 'outcome'))
      if (chosen.length > 0) next.set('outcome', chosen.join(','))
      route(addressOf(`/jobs/${id}?${next}`))
    },
    onEvent: setEvent,
    more,
  }
  return (
    <>
      {host || task !== undefined || outcomes.length > 0 ? (
        <Pieces
          key={`${id} ${task} ${host} ${outcome}`}
          LogView={LogView}
          whole={outputOf(id)}
          view={view}
          host={host || undefined}
          task={task}
        />
      ) : (
        <LogView key={id} {...view} />
      )}
      <p>
        <a href={addressOf(`/api/v2/job/${id}/download`)} download>
          {words.job.download}
        </a>
      </p>
      {event !== null && <EventDialog jobId={id} order={event} onClose={() => setEvent(null)} />}
    </>
  )
}
