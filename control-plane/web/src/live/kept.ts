import { type Signal, effect, signal } from '@preact/signals'

/**
 * What somebody chose for this browser, such as its colours. It is kept there, a few bytes, and counts for every page.
 * @returns its text; empty: nothing was chosen. A new text is kept, and other tabs take it over
 */
export function keptChoice(key: string): Signal<string> {
  const choice = signal(unlessForbidden(() => localStorage.getItem(key)) ?? '')
  effect(() => {
    const { value } = choice
    unlessForbidden(() => {
      if (value === '') localStorage.removeItem(key)
      else localStorage.setItem(key, value)
    })
  })
  addEventListener('storage', (event) => {
    if (event.key === key) choice.value = event.newValue ?? ''
  })
  return choice
}

/** A browser may keep nothing for the pages. Then a choice counts for this page only. */
function unlessForbidden<Value>(use: () => Value): Value | null {
  try {
    return use()
  } catch {
    return null
  }
}
