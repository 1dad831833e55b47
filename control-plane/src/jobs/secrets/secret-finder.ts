/** Shorter secrets are not looked for inside of other values: they would be found everywhere. In characters. */
export const SHORTEST_FOUND = 4

/** Shorter parts of a base64 text say too little. */
const SHORTEST_BASE64 = 8

const TABLE_SIZE = 1 << 16

/**
 * How many comparisons one finder makes. Values of a user who wants them to be many would hold up everybody; past the
 * bound every text counts as one that holds a secret, so that nothing is shown by mistake.
 */
const MAX_COMPARISONS = 2_000_000

/** Finds secrets in texts: as they are, line by line, and as JSON, URLs, HTML and base64 show them. */
export interface SecretFinder {
  /** Whether a secret stands in the text. */
  holds(text: string): boolean
  /** The text with `mask` in the place of each secret. For short texts. */
  hide(text: string, mask: string): string
}

/** @param secrets those that are too short are left out */
export function createSecretFinder(secrets: readonly string[]): SecretFinder {
  const needles = [...new Set(secrets.flatMap(formsOf))].filter((form) => form.length >= SHORTEST_FOUND)
  if (needles.length === 0) return { holds: () => false, hide: (text) => text }
  const table: (string[] | undefined)[] = new Array<string[] | undefined>(TABLE_SIZE)
  for (const needle of needles) {
    const place = placeOf(needle, 0)
    table[place] = [...(table[place] ?? []), needle]
  }
  const longestFirst = needles.toSorted((one, other) => other.length - one.length)
  let comparisons = 0

  function holds(text: string): boolean {
    for (let at = 0; at + SHORTEST_FOUND <= text.length; at += 1) {
      for (const needle of table[placeOf(text, at)] ?? []) {
        comparisons += 1 + (needle.length >> 6)
        if (comparisons > MAX_COMPARISONS || text.startsWith(needle, at)) return true
      }
    }
    return false
  }

  return {
    holds,
    hide: (text, mask) => longestFirst.reduce((rest, needle) => rest.replaceAll(needle, () => mask), text),
  }
}

/** A number for the first four characters of what begins there. */
function placeOf(text: string, at: number): number {
  const code = (offset: number) => text.charCodeAt(at + offset)
  return (((code(0) * 31 + code(1)) * 31 + code(2)) * 31 + code(3)) & (TABLE_SIZE - 1)
}

function formsOf(secret: string): string[] {
  const whole = secret.trim()
  const lines = whole.split(/\r?\n/).map((line) => line.trim())
  // The first and last line of a key are the same for every key.
  const parts = lines.length < 2 ? [whole] : [whole, ...lines.filter((line) => !line.startsWith('-----'))]
  return [...parts.flatMap(writtenForms), ...base64Forms(whole)]
}

function writtenForms(part: string): string[] {
  const once = JSON.stringify(part).slice(1, -1)
  const html = part.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
  // `encodeURIComponent` throws for half of a pair of surrogates.
  const url = /\p{Surrogate}/u.test(part) ? [] : [encodeURIComponent(part)]
  return [part, once, JSON.stringify(once).slice(1, -1), html, ...url]
}

/** By itself, and inside of something longer (`user:password`): there it may begin at any of three places of a group. */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length < SHORTEST_FOUND) return []
  const forms = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    return encoded.slice(Math.floor((before * 8 + 5) / 6), Math.floor(((before + bytes.length) * 8) / 6))
  })
  return forms
    .filter((form) => form.length >= SHORTEST_BASE64)
    .flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}
