import { type Theme, setTheme, theme } from '../live/theme.js'
import { words } from '../words/en.js'

/** The colours of the pages, to be chosen. A label belongs around it. */
export function ThemeSelect() {
  return (
    <select value={theme.value} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
      <option value="system">{words.theme.system}</option>
      <option value="light">{words.theme.light}</option>
      <option value="dark">{words.theme.dark}</option>
    </select>
  )
}
