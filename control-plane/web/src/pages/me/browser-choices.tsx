import { hasLetterKeys, setLetterKeys } from '../../live/letter-keys.js'
import { ThemeSelect } from '../../parts/theme-select.js'
import { zone } from '../../parts/time.js'
import { meWords } from '../../words/en-me.js'

const UTC = 'UTC'

/** What somebody chooses for this browser. The control plane does not hear of it. */
export function BrowserChoices() {
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone
  const others = Intl.supportedValuesOf('timeZone').filter((name) => name !== UTC)
  return (
    <section aria-labelledby="browser">
      <h2 id="browser">{meWords.browser}</h2>
      <p class="soft">{meWords.browserText}</p>
      <div class="filters">
        <label>
          {meWords.theme}
          <ThemeSelect />
        </label>
        <label>
          {meWords.zone}
          <select value={zone.value} onChange={(event) => (zone.value = event.currentTarget.value)}>
            <option value="">{meWords.ownZone(own)}</option>
            {[UTC, ...others].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={hasLetterKeys.value}
            onChange={(event) => setLetterKeys(event.currentTarget.checked)}
          />
          {meWords.letterKeys}
        </label>
      </div>
    </section>
  )
}
