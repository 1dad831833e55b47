import type { JobRecord, ListedForm } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { focusAgain } from '../../parts/dialog.js'
import { Status } from '../../parts/status.js'
import { Time } from '../../parts/time.js'
import { formsWords } from '../../words/en-forms.js'
import { favourites, toggleFavourite } from './favourites.js'

/** A form to open. @property last the newest run that the user launched, if it is known */
export function FormTile({
  form: { name, description },
  last,
}: {
  readonly form: ListedForm
  readonly last: JobRecord | undefined
}) {
  const isFavourite = favourites.value.has(name)
  return (
    <li class="tile">
      <a href={addressOf(`/forms/${encodeURIComponent(name)}`)}>
        <strong>{name}</strong>
      </a>
      {description !== null && <span class="soft">{description}</span>}
      <div class="tile-foot">
        {last && (
          <a href={addressOf(`/jobs/${last.id}`)} title={formsWords.lastRun}>
            <Status status={last.status} /> <Time at={last.start} />
          </a>
        )}
        <button
          type="button"
          class="quiet"
          aria-pressed={isFavourite}
          aria-label={formsWords.favourite(name)}
          onClick={({ currentTarget }) => {
            toggleFavourite(name)
            // It is gone when it stood among the favourites.
            focusAgain(currentTarget)
          }}
        >
          {isFavourite ? '★' : '☆'}
        </button>
      </div>
    </li>
  )
}
