/** How many changed letters a misspelling of a name of this length may have. */
const mostChanges = (length: number) => (length <= 3 ? 1 : length <= 8 ? 2 : 3)

/** Longest name that is compared, because the work grows with both lengths. */
const MAX_CHARACTERS = 100

/** The known name that is most similar to a misspelt one; null when none is similar. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  if (name.length > MAX_CHARACTERS) return null
  let best: { readonly name: string; readonly changes: number } | null = null
  for (const one of known) {
    if (Math.abs(one.length - name.length) > mostChanges(name.length)) continue
    const changes = changesBetween(name.toLowerCase(), one.toLowerCase())
    if (changes <= mostChanges(name.length) && (best === null || changes < best.changes)) best = { name: one, changes }
  }
  return best?.name ?? null
}

/**
 * The number of steps to make one text from the other: insert, remove or replace a letter, or swap it with the next
 * one.
 */
function changesBetween(one: string, other: string): number {
  let before: number[] = []
  let above = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      const left = line[column - 1] ?? 0
      const up = above[column] ?? 0
      const corner = (above[column - 1] ?? 0) + (isSame ? 0 : 1)
      const swap = isSwapped ? (before[column - 2] ?? 0) + 1 : Infinity
      line.push(Math.min(left + 1, up + 1, corner, swap))
    }
    before = above
    above = line
  }
  return above[other.length] ?? 0
}
