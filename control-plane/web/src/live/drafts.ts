import { BASE } from './address.js'

/** The keys of all drafts of this service, in the storage of this browser, begin with it. */
export const DRAFT_PREFIX = `${BASE}/draft/`

/** Removes every draft, of whomever it is. */
export function removeDrafts(): void {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(DRAFT_PREFIX))
    for (const key of keys) localStorage.removeItem(key)
  } catch {
    // A browser that keeps nothing for the pages has no drafts.
  }
}
