import { escapeControls } from '@holdfast/protocol'

/** Most entries that a sentence names, and most characters of a path in it. */
const MAX_NAMED = 5
const MAX_PATH_CHARACTERS = 200

/** An entry of the playbook folder that cannot travel to a runner. If it is a folder, nothing in it travels. */
export interface LeftOut {
  readonly path: string
  /** What it is, such as `a named pipe`. */
  readonly reason: string
}

/** How many entries there are, in words: `1 entry`, `2 entries`. */
export function entriesInWords({ length }: readonly LeftOut[]): string {
  return length === 1 ? '1 entry' : `${length} entries`
}

/** The first of the entries with their reasons, for people: `a (a socket), b (a named pipe) and 3 more`. */
export function namedInWords(entries: readonly LeftOut[]): string {
  const named = entries.slice(0, MAX_NAMED).map(({ path, reason }) => `${shownPath(path)} (${reason})`)
  const more = entries.length - named.length
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** What the detail of a job says about them. */
export function jobDetailOf(entries: readonly LeftOut[]): string {
  return `${entriesInWords(entries)} of the playbook folder did not travel to the runner: ${namedInWords(entries)}`
}

/** A path on one line. The end of a long one says more than its beginning. */
export function shownPath(path: string): string {
  const shown = escapeControls(path)
  return shown.length > MAX_PATH_CHARACTERS ? `…${shown.slice(-MAX_PATH_CHARACTERS)}` : shown
}
