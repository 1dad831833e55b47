import { type Origin, type OriginPart, type Origins, pointerOf } from '../../sources/origins.js'
import type { FilledValue } from '../check/evaluator.js'
import { type MarkPlace, placesIn } from './mark-places.js'
import { type HandedOver, type HandingFunctions, readScript } from './script-origins.js'

/**
 * Marks around texts in scripts. They tell, behind the sandbox, which texts the author of the form wrote. Values go into a
 * script only after the marks, so no value can have one: each check has its own random word. A mark counts only around
 * exactly the text that it was made for, so a script cannot put a value between two marks.
 */
export type OriginMarks = ReturnType<typeof createOriginMarks>

/** What is put into a script at a position. */
interface Insertion {
  readonly at: number
  readonly text: string
  readonly isOpening: boolean
}

/** @param word a random word of letters and digits that no value can contain */
export function createOriginMarks(word: string) {
  const mark = new RegExp(`${word}([as])([0-9]+)z|${word}e([0-9]+)z`, 'g')
  /** The marked texts by the numbers of their marks. */
  const marked: string[] = []

  function around(text: string, origin: Origin): readonly [open: string, close: string] {
    const number = marked.push(text) - 1
    return [`${word}${origin === 'author' ? 'a' : 's'}${number}z`, `${word}e${number}z`]
  }

  function withMarks(script: string, places: readonly MarkPlace[]): string {
    const insertions = places.flatMap(({ start, end, content, origin, quote }): Insertion[] => {
      const [open, close] = around(content, origin)
      return [
        { at: start, text: quote + open, isOpening: true },
        { at: end, text: close + quote, isOpening: false },
      ]
    })
    return inserted(script, insertions)
  }

  function partsOf(text: string): { readonly plain: string; readonly parts: readonly OriginPart[] } {
    let plain = ''
    let end = 0
    let open: { readonly number: number; readonly from: number; readonly origin: Origin } | null = null
    const parts: OriginPart[] = []
    for (const found of text.matchAll(mark)) {
      plain += text.slice(end, found.index)
      end = found.index + found[0].length
      const [, kind, opened, closed] = found
      if (kind !== undefined) {
        open = { number: Number(opened), from: plain.length, origin: kind === 'a' ? 'author' : 'service' }
      } else {
        const isWhole = open?.number === Number(closed) && plain.slice(open.from) === marked[open.number]
        if (open && isWhole && plain.length > open.from) parts.push([open.from, plain.length, open.origin])
        open = null
      }
    }
    return { plain: plain + text.slice(end), parts }
  }

  /** A text without marks. */
  const strip = (text: string) => (text.includes(word) ? text.replace(mark, '') : text)

  return {
    strip,
    /** @param valueOf what will stand for a placeholder; null: a person may have typed it */
    markScript(script: string, handing: HandingFunctions, valueOf: (inside: string) => FilledValue | null): string {
      const read = readScript(script, false, handing)
      return read === null ? script : withMarks(script, placesIn(script, read, valueOf))
    },
    /** Marks `functions.js`, which the scripts may call. */
    markFunctions: (text: string, read: HandedOver): string =>
      withMarks(
        text,
        placesIn(text, read, () => null),
      ),
    /** Marks a text that the service made for a script. */
    markText(text: string, origin: Origin): string {
      const [open, close] = around(text, origin)
      return open + text + close
    },
    /** The value without its marks, and who made its texts. */
    read(value: unknown): { readonly value: unknown; readonly parts: Origins['parts'] } {
      const parts: Record<string, readonly OriginPart[]> = {}
      const clean = mapTexts(
        value,
        (text, path) => {
          if (!text.includes(word)) return text
          const read = partsOf(text)
          if (read.parts.length > 0) parts[pointerOf(path)] = read.parts
          return read.plain
        },
        strip,
      )
      return { value: clean, parts }
    },
  }
}

function inserted(script: string, insertions: readonly Insertion[]): string {
  // Where one text ends and the next begins, the first one is closed before the next is opened.
  const inOrder = insertions.toSorted(
    (one, other) => one.at - other.at || Number(one.isOpening) - Number(other.isOpening),
  )
  let result = ''
  let end = 0
  for (const { at, text } of inOrder) {
    result += script.slice(end, at) + text
    end = at
  }
  return result + script.slice(end)
}

/** The value with its texts and keys changed. The same object where nothing changes. Its levels were counted before. */
function mapTexts(
  value: unknown,
  change: (text: string, path: readonly (string | number)[]) => string,
  changeKey: (key: string) => string,
  path: (string | number)[] = [],
): unknown {
  if (typeof value === 'string') return change(value, path)
  if (typeof value !== 'object' || value === null) return value
  let isSame = true
  const entries = Object.entries(value).map(([key, entry]: [string, unknown]) => {
    const plain = changeKey(key)
    path.push(plain)
    const changed = mapTexts(entry, change, changeKey, path)
    path.pop()
    isSame &&= changed === entry && plain === key
    return [plain, changed] as const
  })
  if (isSame) return value
  return Array.isArray(value) ? entries.map(([, entry]) => entry) : Object.fromEntries(entries)
}
