import { SHORTEST_HIDDEN, wordsOfSecret } from '@holdfast/protocol'
import { readingsOf } from './readings.js'

/** Shortest part of a base64 text that is looked for, in characters. Shorter parts would be found by chance. */
const SHORTEST_BASE64 = 8

const TABLE_SIZE = 1 << 16

/** Most words of all secrets together. The secrets of the runner have the same bound. */
const MAX_WORDS = 5000

/**
 * Most comparisons of one finder. Without a bound, a user could send values that keep the service busy. Beyond this
 * limit, every text counts as one with a secret, so that no secret is shown by mistake.
 */
const MAX_COMPARISONS = 2_000_000

/**
 * Finds secrets in texts, also the values inside of them: as they are, with escapes of every kind, and as base64 and
 * hexadecimal digits.
 */
export interface SecretFinder {
  /** Whether the text contains a secret. */
  holds(text: string): boolean
  /** The text with `mask` in place of each secret. For short texts only. */
  hide(text: string, mask: string): string
}

/** @param secrets secrets that are too short are ignored */
export function createSecretFinder(secrets: readonly string[]): SecretFinder {
  const words = new Set(secrets.flatMap((secret) => wordsOfSecret(secret)).slice(0, MAX_WORDS))
  const needles = [...new Set([...words].flatMap(formsOf))].filter((form) => form.length >= SHORTEST_HIDDEN)
  if (needles.length === 0) return { holds: () => false, hide: (text) => text }
  const table: (string[] | undefined)[] = new Array<string[] | undefined>(TABLE_SIZE)
  for (const needle of needles) {
    const place = placeOf(needle, 0)
    table[place] = [...(table[place] ?? []), needle]
  }
  const longestFirst = needles.toSorted((one, other) => other.length - one.length)
  let comparisons = 0

  function isIn(text: string): boolean {
    for (let at = 0; at + SHORTEST_HIDDEN <= text.length; at += 1) {
      for (const needle of table[placeOf(text, at)] ?? []) {
        comparisons += 1 + (needle.length >> 6)
        if (comparisons > MAX_COMPARISONS || text.startsWith(needle, at)) return true
      }
    }
    return false
  }

  function holds(text: string): boolean {
    if (isIn(text)) return true
    for (const reading of readingsOf(text)) {
      if (reading === text) continue
      comparisons += reading.length >> 1
      if (isIn(reading)) return true
    }
    return false
  }

  return {
    holds,
    hide(text, mask) {
      const shown = longestFirst.reduce((rest, needle) => rest.replaceAll(needle, () => mask), text)
      // What is left may hold a secret that is written with escapes. Its place is not looked for.
      return holds(shown.replaceAll(mask, ' ')) ? mask : shown
    },
  }
}

/** A number for the first four characters at this place. */
function placeOf(text: string, at: number): number {
  const code = (offset: number) => text.charCodeAt(at + offset)
  return (((code(0) * 31 + code(1)) * 31 + code(2)) * 31 + code(3)) & (TABLE_SIZE - 1)
}

function formsOf(word: string): string[] {
  // The readings of a text have its escapes read. So they hold a word that looks like escapes with these read, too.
  const hex = Buffer.from(word).toString('hex')
  return [...readingsOf(word), word.replaceAll(' ', '+'), ...base64Forms(word), hex, hex.toUpperCase()]
}

/**
 * The base64 forms of a text: by itself, and inside a longer text such as `user:password`. In a longer text the secret
 * may begin at any of the three places of a base64 group.
 */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length < SHORTEST_HIDDEN) return []
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
