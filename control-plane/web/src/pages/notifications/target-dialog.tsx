import type { NewNotificationTarget, NotificationTarget } from '@holdfast/client'
import { useAction } from '../../live/action.js'
import { Dialog } from '../../parts/dialog.js'
import { textOf } from '../../parts/entry-form.js'
import { Failure } from '../../parts/failure.js'
import { Hinted } from '../../parts/hinted.js'
import { notificationWords as text } from '../../words/en-notifications.js'
import { words } from '../../words/en.js'

/** What an admin enters for a webhook. An empty secret stands for none. */
type TargetEntries = Required<Pick<NewNotificationTarget, 'name' | 'url' | 'events' | 'secret'>>

const EVENTS = ['job.ended', 'job.approval', 'runner.request', 'runner.lost', 'runner.back'] as const

/** The events that a webhook can be told of: those that this page knows, and those that the webhook has. */
const eventsOf = (target: NotificationTarget | null) => [...new Set([...EVENTS, ...(target?.events ?? [])])]

/** Asks for what a webhook needs. */
export function TargetDialog({
  title,
  target,
  submit,
  receipt,
  send,
  close,
}: {
  readonly title: string
  /** Null: a new one. */
  readonly target: NotificationTarget | null
  readonly submit: string
  readonly receipt: string | null
  readonly send: (entries: TargetEntries) => Promise<void>
  readonly close: () => void
}) {
  const { isBusy, error, go } = useAction()
  const sendFrom = (form: HTMLFormElement) => {
    const data = new FormData(form)
    // The boxes have the names of events as values.
    const events = data.getAll('event').map(String) as TargetEntries['events']
    const entries = { name: textOf(data, 'name'), url: textOf(data, 'url'), secret: textOf(data, 'secret'), events }
    return go(() => send(entries), receipt)
  }
  return (
    <Dialog title={title} onClose={close}>
      <form
        class="stacked"
        aria-label={title}
        onSubmit={(event) => {
          event.preventDefault()
          void sendFrom(event.currentTarget)
        }}
      >
        <Fields target={target} />
        {error && <Failure error={error} />}
        <div class="buttons">
          <button type="submit" class="main" aria-disabled={isBusy}>
            {submit}
          </button>
          <button type="button" onClick={close}>
            {words.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

function Fields({ target }: { readonly target: NotificationTarget | null }) {
  return (
    <>
      {target === null && (
        <Hinted label={text.name} hint={text.nameHint}>
          {(hint) => (
            <input
              name="name"
              type="text"
              autocomplete="off"
              required
              maxLength={100}
              pattern="[A-Za-z0-9][A-Za-z0-9._ \-]*"
              aria-describedby={hint}
            />
          )}
        </Hinted>
      )}
      <label>
        {text.url}
        <input name="url" type="url" autocomplete="off" required maxLength={2000} defaultValue={target?.url} />
      </label>
      <fieldset class="days">
        <legend>{text.events}</legend>
        {eventsOf(target).map((event) => (
          <label key={event} class="check">
            <input
              type="checkbox"
              name="event"
              value={event}
              defaultChecked={target === null ? event === 'job.ended' : target.events.includes(event)}
            />
            {text.eventNames[event] ?? event}
          </label>
        ))}
      </fieldset>
      <Hinted label={text.secret} hint={target === null ? text.secretHint : text.keepHint}>
        {(hint) => (
          <input
            name="secret"
            type="password"
            autocomplete="new-password"
            minLength={16}
            maxLength={200}
            aria-describedby={hint}
          />
        )}
      </Hinted>
    </>
  )
}
