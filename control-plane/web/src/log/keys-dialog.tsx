import { hasLetterKeys, setLetterKeys } from '../live/letter-keys.js'
import { Dialog } from '../parts/dialog.js'
import { moreWords as text } from '../words/en-log-more.js'
import { words } from '../words/en.js'

/** The keys of the output, and whether those of one letter are on. */
export function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title={text.keysTitle} onClose={onClose}>
      <table class="log-keys">
        <tbody>
          {text.keyTable.map(([key, meaning]) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label class="check">
        <input
          type="checkbox"
          checked={hasLetterKeys.value}
          onChange={({ currentTarget }) => setLetterKeys(currentTarget.checked)}
        />{' '}
        {text.keysOn}
      </label>
      <div class="buttons">
        <button type="button" onClick={onClose}>
          {words.close}
        </button>
      </div>
    </Dialog>
  )
}
