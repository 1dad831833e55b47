import { signal } from '@preact/signals'

/** Where this browser keeps the names. */
const KEY = 'holdfast.favourites'

/** The forms that somebody marked in this browser, by name. */
export const favourites = signal<ReadonlySet<string>>(new Set(stored()))

/** Marks a form, or takes its mark away. */
export function toggleFavourite(name: string): void {
  const next = new Set(favourites.value)
  if (!next.delete(name)) next.add(name)
  favourites.value = next
  try {
    localStorage.setItem(KEY, JSON.stringify([...next]))
  } catch {
    // The choice could not be stored. It counts for this page only.
  }
}

function stored(): string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
  } catch {
    return []
  }
}
