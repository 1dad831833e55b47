import { useLocation } from 'preact-iso/router'
import { useId, useState } from 'preact/hooks'
import { addressOf } from '../live/address.js'
import { useAnswer } from '../live/answer.js'
import { api } from '../live/api.js'
import { isFor } from '../live/session.js'
import { Dialog } from '../parts/dialog.js'
import { Icon, type IconName } from '../parts/icon.js'
import { menuOf } from '../routes.js'
import { goToWords as text } from '../words/en-go-to.js'
import { words } from '../words/en.js'

/** Most places that are offered. */
const MAX_PLACES = 12

interface Place {
  readonly path: string
  readonly name: string
  readonly kind: string
  readonly icon: IconName
}

/** A dialog that leads to every page, form and job by some letters of its name. */
export function GoTo({ close }: { readonly close: () => void }) {
  const { route } = useLocation()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const id = useId()
  const places = usePlaces(typed)
  const at = Math.min(chosen, Math.max(0, places.length - 1))
  const go = (place: Place | undefined) => {
    if (!place) return
    close()
    route(addressOf(place.path))
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && places.length > 0) setChosen((at + step + places.length) % places.length)
    else if (event.key === 'Enter') go(places[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title={text.title} onClose={close}>
      <input
        class="go-to"
        role="combobox"
        aria-label={text.hint}
        placeholder={text.hint}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={places.length > 0 ? `${id}-${at}` : undefined}
        autocomplete="off"
        value={typed}
        onInput={({ currentTarget: { value } }) => {
          setTyped(value)
          setChosen(0)
        }}
        onKeyDown={onKey}
      />
      <ul id={id} class="places" role="listbox" aria-label={text.found}>
        {places.map((place, index) => (
          <li
            key={place.path}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(place)}
          >
            <Icon name={place.icon} />
            <span>{place.name}</span>
            <span class="soft">{place.kind}</span>
          </li>
        ))}
      </ul>
      {places.length === 0 && <p role="status">{text.none}</p>}
      <details>
        <summary>{text.keys}</summary>
        <dl class="keys">
          {text.keyTable.map(([key, meaning]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </details>
    </Dialog>
  )
}

/** The places that have every word of a text in their names. A number is a job. */
function usePlaces(typed: string): readonly Place[] {
  const { value } = useAnswer('forms', ['designer'], (signal) => api.listForms({ fields: false }, { signal }))
  const menu = [...menuOf('work'), ...menuOf('administration')].filter(({ who }) => isFor(who))
  const number = /^#?(\d{1,15})$/.exec(typed.trim())?.[1]
  const all: readonly Place[] = [
    ...menu.map(({ name, path }) => ({ path, name: words.nav[name], kind: text.page, icon: name })),
    { path: '/me', name: words.nav.me, kind: text.page, icon: 'person' },
    ...(value?.records ?? []).map(({ name }) => ({
      path: `/forms/${encodeURIComponent(name)}`,
      name,
      kind: text.form,
      icon: 'forms' as const,
    })),
  ]
  const parts = typed.toLowerCase().split(/\s+/)
  const fitting = all.filter(({ name }) => parts.every((part) => name.toLowerCase().includes(part)))
  const job: readonly Place[] =
    number === undefined ? [] : [{ path: `/jobs/${number}`, name: text.job(number), kind: text.jobKind, icon: 'jobs' }]
  return [...job, ...fitting].slice(0, MAX_PLACES)
}
