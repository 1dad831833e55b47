/** Shortest secret that is looked for inside other values, in characters. Shorter ones would be found everywhere. */
const SHORTEST_FOUND = 4

/** Shortest part of a base64 text that is looked for, in characters. Shorter parts would be found by chance. */
const SHORTEST_BASE64 = 8

const TABLE_SIZE = 1 << 16

/**
 * Most comparisons of one finder. Without a bound, a user could send values that keep the service busy. Beyond this
 * limit, every text counts as one with a secret, so that no secret is shown by mistake.
 */
const MAX_COMPARISONS = 2_000_000

/** Finds secrets in texts: as they are, line by line, and in the forms of JSON, URLs, HTML and base64. */
export interface SecretFinder {
  /** Whether the text contains a secret. */
  holds(text: string): boolean
  /** The text with `mask` in place of each secret. For short texts only. */
  hide(text: string, mask: string): string
}

/** @param secrets secrets that are too short are ignored */
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

/** A number for the first four characters at this place. */
function placeOf(text: string, at: number): number {
  const code = (offset: number) => text.charCodeAt(at + offset)
  return (((code(0) * 31 + code(1)) * 31 + code(2)) * 31 + code(3)) & (TABLE_SIZE - 1)
}

function formsOf(secret: string): string[] {
  const whole = secret.trim()
  const lines = whole.split(/\r?\n/).map((line) => line.trim())
  // The first and the last line of a private key are the same for every key, so they are no secret.
  const parts = lines.length < 2 ? [whole] : [whole, ...lines.filter((line) => !line.startsWith('-----'))]
  return [...parts.flatMap(writtenForms), ...base64Forms(whole)]
}

function writtenForms(part: string): string[] {
  const once = JSON.stringify(part).slice(1, -1)
  const html = part.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
  // `encodeURIComponent` throws for one half of a surrogate pair.
  const url = /\p{Surrogate}/u.test(part) ? [] : [encodeURIComponent(part)]
  return [part, once, JSON.stringify(once).slice(1, -1), html, ...url]
}

/**
 * The base64 forms of a text: by itself, and inside a longer text such as `user:password`. In a longer text the secret
 * may begin at any of the three places of a base64 group.
 */
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
