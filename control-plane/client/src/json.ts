/*
 * The protocol package reads exact numbers in a like way. The client is a package of its own for scripts and takes nothing of the
 * product, so it has its own reader; and it gives `bigint` where the protocol refuses.
 */

/** Whole numbers with 16 digits or more may be beyond what JavaScript holds exactly; a text with none needs no second look. */
const LONG_NUMBER = /\d{16}/

/**
 * Reads JSON. A whole number beyond 2^53 becomes a `bigint`, because a number would have other digits.
 * @throws SyntaxError when it is not JSON
 */
export function readJson(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text)
  const mark = newMark()
  const marked = withMarks(text, mark)
  if (marked === null) return JSON.parse(text)
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  )
}

/** Writes JSON; a `bigint` with all its digits. @param indent blanks by which each level is moved in; left out: one line */
export function writeJson(value: unknown, indent?: number): string {
  const mark = newMark()
  let isMarked = false
  const text = JSON.stringify(
    value,
    (_key, part: unknown) => {
      if (typeof part !== 'bigint') return part
      isMarked = true
      return mark + part.toString()
    },
    indent,
  )
  return isMarked ? text.replace(new RegExp(`"${mark}([^"]*)"`, 'g'), '$1') : text
}

/** Begins the texts that stand for long numbers for a moment. No other text can begin with it, because nobody knows it. */
function newMark(): string {
  // Browsers have no randomUUID where a page came without TLS.
  const random = crypto.getRandomValues(new Uint32Array(4))
  return `number ${random.join('-')} `
}

/** The text with every long whole number as a marked string; null when there is none. */
function withMarks(text: string, mark: string): string | null {
  let marked = ''
  let copied = 0
  const numerals = /"|-?\d[\d.eE+-]*/g
  for (let found = numerals.exec(text); found; found = numerals.exec(text)) {
    const [numeral] = found
    if (numeral === '"') {
      const end = endOfString(text, found.index)
      if (end === -1) break
      numerals.lastIndex = end
    } else if (/^-?\d+$/.test(numeral) && !Number.isSafeInteger(Number(numeral))) {
      marked += `${text.slice(copied, found.index)}"${mark}${numeral}"`
      copied = numerals.lastIndex
    }
  }
  return copied === 0 ? null : marked + text.slice(copied)
}

/** Where a JSON string ends that begins at a quote; -1: nowhere. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    at = text.indexOf('"', at)
    if (at === -1) return -1
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === 0x5c) slashes += 1
    if (slashes % 2 === 0) return at + 1
  }
}
