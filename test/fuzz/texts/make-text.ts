import type { Chance } from '../../chaos/kit/seed.js'
import { GOOD_YAML, REFUSED_YAML } from '../../support/hostile-yaml.js'
import { makeYaml } from './make-yaml.js'

/** The readers of texts that others wrote. */
export const DOORS = ['yaml', 'json', 'pattern', 'expression', 'placeholders'] as const
/** One of the readers. */
export type Door = (typeof DOORS)[number]

/** A text, and who has to read it. */
export interface DrawnText {
  readonly door: Door
  readonly text: string
}

const JSON_PIECES = [
  '[',
  ']',
  '{',
  '}',
  '"',
  ':',
  ',',
  '1',
  '-0.5e3',
  'true',
  'null',
  '"a"',
  '\\',
  '\\u12',
  ' ',
  '\n',
  '\0',
  '{"a":',
  '[[',
  '"__proto__":',
]
const PATTERN_PIECES = [
  '(',
  ')',
  '(?:',
  '(?=',
  '(?<n>',
  ')?',
  ')*',
  ')+?',
  '){2,9}',
  '[',
  ']',
  '[^',
  '\\',
  '\\1',
  '\\p{L}',
  '|',
  'a',
  '.',
  '*',
  '+',
  '?',
  '{1000}',
  '^',
  '$',
  '\\u{1F600}',
  '-',
]
const SCRIPT_PIECES = [
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '"',
  "'",
  '`',
  '${',
  '$(x)',
  '$(__parent__.x)',
  'a',
  '1',
  '=>',
  '...',
  ';',
  'new RegExp(',
  '/(a+)+/',
  'x=',
  'while(1)',
  'JSON.stringify(',
  "'x'.repeat(1e9)",
  '[1,2].map(',
  'fn.fnJq(',
  'fnc.',
  'await ',
  'throw ',
  '?.',
  '\n',
  '//',
  '/*',
  'eval(',
  'Symbol.iterator',
  'new Array(1e9)',
  'f=()=>f()',
  'f()',
]
const PLACEHOLDER_PIECES = [
  '$(',
  ')',
  'x',
  '.',
  '[0]',
  '[',
  ']',
  '__parent__',
  '"',
  "'",
  '`',
  '/',
  '\\',
  '${',
  '}',
  ' ',
  '\n',
  '$$',
  '$(x)',
  '$(x.y[3].z)',
  '//',
  '/*',
  'return /',
]

/** Patterns and scripts that are mostly right: `_` stands for another part. */
const PATTERN_PARTS = [
  'a',
  '.',
  '[^b]',
  '\\d',
  '\\1',
  '^',
  '(_)',
  '(?:_)?',
  '_|_',
  '(?=_)',
  '(?:_)*',
  '(_)+?',
  '(?<!_)',
  '(_){2,9}',
  '__',
]
const SCRIPT_PARTS = [
  '1',
  '"x"',
  'x',
  '$(x)',
  '[_]',
  '({a:_})',
  '(_+_)',
  '(_?_:_)',
  '((y)=>_)(_)',
  '[_].map((z)=>z)',
  'JSON.stringify(_)',
  '`${_}`',
  'String(_).repeat(99)',
  'Object.keys(Object(_))',
  'new Array(9).fill(_)',
]

const MAKERS: Readonly<Record<Door, (chance: Chance) => string>> = {
  yaml: yamlText,
  json: jsonText,
  pattern: (chance) => nestedText(chance, PATTERN_PARTS) ?? piecesText(chance, PATTERN_PIECES),
  expression: (chance) => nestedText(chance, SCRIPT_PARTS) ?? piecesText(chance, SCRIPT_PIECES),
  placeholders: (chance) => piecesText(chance, PLACEHOLDER_PIECES),
}

/** Most characters of a text: a little more than YAML may have. Few texts are that long, because each takes long. */
const LONGEST = 2.2 * 1024 * 1024
const ONE_LONG_IN = 250

/** The text of a number. The same seed gives the same texts. */
export function drawText(chance: Chance): DrawnText {
  const door = chance.next() < 0.5 ? 'yaml' : chance.pick(DOORS)
  const most = chance.between(1, ONE_LONG_IN) === 1 ? LONGEST : 10 ** (1 + 3 * chance.next())
  const made = MAKERS[door](chance)
  const changed = chance.next() < 0.4 ? damaged(made, chance) : made
  const repeated = chance.next() < 0.3 ? withRepeats(changed, most, chance) : changed
  return { door, text: repeated.slice(0, LONGEST) }
}

function yamlText(chance: Chance): string {
  const known = [...Object.values(REFUSED_YAML), ...Object.values(GOOD_YAML).map(([text]) => text)]
  if (chance.between(1, 400) === 1) return chance.pick(known)
  return makeYaml(chance)
}

function jsonText(chance: Chance): string {
  if (chance.next() < 0.5) return piecesText(chance, JSON_PIECES)
  const valueOf = (left: number): unknown => {
    const parts = Array.from({ length: left === 0 ? 0 : chance.between(0, 4) }, () => valueOf(left - 1))
    const plain = chance.pick([null, true, -1.5e10, 'x"\\', '\u0000', randomCharacter(chance), ''])
    const named = parts.map((part, at) => [chance.pick([`k${at}`, '__proto__', '', 'toJSON']), part] as const)
    return chance.pick([plain, parts, Object.fromEntries(named)])
  }
  return JSON.stringify(valueOf(chance.between(0, 6)), null, chance.pick([0, 2]))
}

/** A text of parts in parts; null: this text shall be of single pieces. */
function nestedText(chance: Chance, parts: readonly string[]): string | null {
  if (chance.next() < 0.4) return null
  let text = '_'
  for (let left = chance.between(1, 25); left > 0 && text.length < 2000; left -= 1) {
    text = text.replace('_', () => chance.pick(parts))
  }
  const leaves = parts.filter((part) => !part.includes('_'))
  return text.replaceAll('_', () => chance.pick(leaves))
}

function piecesText(chance: Chance, pieces: readonly string[]): string {
  const length = chance.between(1, 60)
  return Array.from({ length }, () => (chance.next() < 0.05 ? randomCharacter(chance) : chance.pick(pieces))).join('')
}

/** The text with something missing, doubled, moved or put in. */
function damaged(text: string, chance: Chance): string {
  let changed = text
  for (let time = chance.between(1, 4); time > 0; time -= 1) {
    const [from, to] = [chance.between(0, changed.length), chance.between(0, changed.length)].sort((a, b) => a - b) as [
      number,
      number,
    ]
    const [head, part, tail] = [changed.slice(0, from), changed.slice(from, to), changed.slice(to)]
    const put = chance.pick(['', part + part, randomCharacter(chance), '\n', '\t', ' ', ': ', '- ', '"', "'", '[', '}'])
    changed = head + (chance.next() < 0.5 ? put : part + put) + tail
    if (changed.length > LONGEST) break
  }
  return changed
}

/** One part of the text stands very often in a row. This is what deep levels are made of. */
function withRepeats(text: string, most: number, chance: Chance): string {
  const at = chance.between(0, text.length)
  const part = text.slice(at, at + chance.between(1, 6)) || '['
  return text.slice(0, at) + part.repeat(Math.ceil(most / part.length)) + text.slice(at)
}

function randomCharacter(chance: Chance): string {
  const code = chance.pick([chance.between(0, 0x7f), chance.between(0, 0xff), chance.between(0, 0xffff)])
  return String.fromCharCode(code)
}
