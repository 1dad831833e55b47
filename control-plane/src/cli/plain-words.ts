/** Stands before a word that begins with a dash and is no option. No terminal can type it. */
const MARK = '\u0001'

/** Letters of short options. A word such as `-W dash` is none of them. */
const SHORT_OPTIONS = /^-[efouh]/

/**
 * Marks the words that are no options although they begin with a dash, because the parser would take them for options: all
 * words behind `--`, and words with a blank that begin like no option (`-W dash`).
 */
export function markPlainWords(argv: readonly string[]): string[] {
  const end = argv.indexOf('--')
  const options = end === -1 ? argv : argv.slice(0, end)
  const rest = end === -1 ? [] : argv.slice(end + 1)
  const isPlain = (word: string) => /^-[^-=]*\s/.test(word) && !SHORT_OPTIONS.test(word)
  return [
    ...options.map((word) => (isPlain(word) ? `${MARK}${word}` : word)),
    ...rest.map((word) => (word.startsWith('-') ? `${MARK}${word}` : word)),
  ]
}

/** Takes the marks away from everything that was parsed, in place. */
export function unmarkPlainWords(parsed: Record<string, unknown>): void {
  const plain = (value: unknown): unknown => {
    if (typeof value === 'string') return value.startsWith(MARK) ? value.slice(MARK.length) : value
    return Array.isArray(value) ? value.map(plain) : value
  }
  for (const [name, value] of Object.entries(parsed)) parsed[name] = plain(value)
}
