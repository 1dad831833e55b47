import fc from 'fast-check'
import type { Chance } from '../chaos/kit/seed.js'
import type { Schema } from './document.js'

/** Gives a value for a property that a schema alone cannot know (an existing name, a good password); undefined: none. */
export type Hint = (property: string, chance: Chance) => unknown

/** The same value of an arbitrary for the same chance. */
function drawn<T>(chance: Chance, arbitrary: fc.Arbitrary<T>): T {
  return fc.sample(arbitrary, { seed: chance.between(0, 2 ** 31 - 1), numRuns: 1 })[0] as T
}

/** A value that the schema allows. */
export function validValue(schema: Schema, chance: Chance, hint: Hint): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return chance.pick(schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return validValue(chance.pick(choices), chance, hint)
  switch (Array.isArray(schema.type) ? (chance.pick(schema.type) as string) : schema.type) {
    case 'object':
      return validObject(schema, chance, hint)
    case 'array':
      return Array.from({ length: chance.between(schema.minItems ?? 0, Math.min(schema.maxItems ?? 3, 3)) }, () =>
        validValue(schema.items ?? {}, chance, hint),
      )
    case 'string':
      return validText(schema, chance)
    case 'integer':
      return wholeNumber(schema, chance)
    case 'number':
      return wholeNumber(schema, chance) + (schema.maximum === undefined ? chance.pick([0, 0.5]) : 0)
    case 'boolean':
      return chance.pick([true, false])
    case 'null':
      return null
    default:
      return drawn(chance, fc.jsonValue({ maxDepth: 2 }))
  }
}

function validObject(schema: Schema, chance: Chance, hint: Hint): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    if (!schema.required?.includes(name) && chance.next() < 0.5) continue
    const known = hint(name, chance)
    object[name] = known === undefined ? validValue(inner, chance, hint) : known
  }
  if (schema.properties === undefined && schema.additionalProperties !== false && chance.next() < 0.5) {
    const inner = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {}
    object[`key${chance.between(1, 9)}`] = validValue(inner, chance, hint)
  }
  return object
}

function validText(schema: Schema, chance: Chance): string {
  if (schema.pattern !== undefined) return drawn(chance, fc.stringMatching(new RegExp(schema.pattern, 'u')))
  if (schema.format === 'date-time') return '2026-01-02T03:04:05.678Z'
  const [least, most] = [schema.minLength ?? 0, schema.maxLength ?? 40]
  const length = chance.next() < 0.1 ? most : chance.between(least, Math.min(most, Math.max(least, 40)))
  const text = drawn(chance, fc.string({ unit: chance.pick(['grapheme-ascii', 'grapheme']), maxLength: 60 }))
  // Cutting may leave half of a character.
  return text
    .padEnd(length, 'x')
    .slice(0, Math.max(length, least))
    .replace(/[\ud800-\udbff]$/, 'x')
}

function wholeNumber(schema: Schema, chance: Chance): number {
  const least = schema.minimum ?? -10
  const most = schema.maximum ?? Math.max(least, 1000)
  return chance.pick([least, most, chance.between(least, most)])
}

/** Texts that break programs. */
export const STRANGE_TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\udfff\ud800',
  '\u202e\u0000\uffff',
  '﷽'.repeat(50),
  'é'.normalize('NFD'),
  '🤷🏽‍♀️',
  '__proto__',
  'constructor',
  'toString',
  '$(__parent__.x)',
  '$(a)$(b)',
  '{{ lookup("pipe", "id") }}',
  "'; DROP TABLE jobs; --",
  '../../../../etc/passwd',
  '%00%0a%0d',
  '\r\nX-Injected: 1',
  '-e@/etc/passwd',
  'NaN',
  '1e400',
  '********',
  '<script>alert(1)</script>',
  '\x1b[2J\x1b]0;title\x07',
] as const

/** Values of every kind, to stand where another one is meant. */
export function strangeValue(chance: Chance): unknown {
  return chance.pick<() => unknown>([
    () => null,
    () => chance.pick([true, false]),
    () => chance.pick([0, -0, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 5e-324, 99999999999]),
    () => chance.pick(STRANGE_TEXTS),
    () => 'x'.repeat(chance.pick([300, 5000, 70_000])),
    () => [],
    () => ({}),
    () => [[[[]]]],
    () => Array.from({ length: 2000 }, (_, index) => index),
    () => ({ toString: 'x', valueOf: 1, length: -1, then: {} }),
    () => ({ constructor: { prototype: { polluted: true } } }),
    () => nested(chance.pick([50, 99, 101, 500, 1200]), chance.pick(['list', 'object'])),
    () => drawn(chance, fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' })),
  ])()
}

/** Lists or objects so many levels deep. */
export function nested(levels: number, kind: 'list' | 'object'): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = kind === 'list' ? [value] : { a: value }
  return value
}

/** What can stand in the place of an id in a path, and is nobody's. None of them means a small number. */
export const STRANGE_IDS = [
  '0',
  '-1',
  '+99999999',
  '9007199254740991',
  '9007199254740992',
  '9223372036854775808',
  '1e3',
  '1.5',
  '0x10',
  '１２',
  'NaN',
  'null',
  'undefined',
  '99999999999999999999999999',
  '%00',
  '%2e%2e',
  '%2f',
  '..%2f..%2fetc',
  '%F0%9F%A4%B7',
  '%',
  '%zz',
  '%c0%af',
  '%ff',
  '*',
  ':id',
  '{id}',
  '__proto__',
  "1'--",
  `${'1'.repeat(600)}`,
] as const
