import { signal } from '@preact/signals'

/** The colours that somebody chose for this browser. */
export type Theme = 'system' | 'light' | 'dark'

const KEY = 'holdfast-theme'
const isTheme = (text: unknown): text is Theme => text === 'light' || text === 'dark'

/** The colours of now. */
export const theme = signal<Theme>('system')

/** Takes the colours that were chosen before. */
export function startTheme(): void {
  try {
    const stored = localStorage.getItem(KEY)
    setTheme(isTheme(stored) ? stored : 'system')
  } catch {
    // A browser that stores nothing for this page shows the colours of the system.
  }
}

/** Changes the colours, and keeps the choice in this browser. */
export function setTheme(next: Theme): void {
  theme.value = next
  if (next === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = next
  try {
    if (next === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, next)
  } catch {
    // The choice could not be stored. It counts for this page only.
  }
}
