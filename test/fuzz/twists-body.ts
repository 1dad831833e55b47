import type { Chance } from '../chaos/kit/seed.js'
import { LARGEST } from '../support/largest-bodies.js'
import type { Schema } from './document.js'
import { type Draft, setBody, setHeader } from './draft.js'
import { STRANGE_TEXTS, nested, strangeValue } from './values.js'

/** Changes one thing of a request. It returns false when the request has nothing of the kind. */
export interface Twist {
  readonly name: string
  readonly apply: (draft: Draft, chance: Chance, schema: Schema | null) => boolean
}

type JsonObject = Record<string, unknown>

/** More than any route lets through. */
export const TOO_LARGE_BYTES = LARGEST.launch + 1

/** A twist of the value that the body is, when it is an object. */
function ofObject(name: string, change: (object: JsonObject, chance: Chance, schema: Schema) => unknown): Twist {
  return {
    name,
    apply(draft, chance, schema) {
      const value = jsonOf(draft)
      if (value === null || typeof value !== 'object' || Array.isArray(value) || !schema) return false
      const changed = change(value as JsonObject, chance, objectSchemaOf(schema))
      if (changed === undefined) return false
      // A key of this name is made by text only: as a property it would be the prototype.
      draft.body = Buffer.from(JSON.stringify(changed).replaceAll('"proto!":', '"__proto__":'))
      return true
    },
  }
}

/** A twist of the text that the body is. */
function ofText(name: string, change: (text: string, chance: Chance) => string | Buffer): Twist {
  return {
    name,
    apply(draft, chance) {
      if (jsonOf(draft) === undefined) return false
      draft.body = Buffer.from(change(draft.body?.toString('utf8') ?? '', chance))
      return true
    },
  }
}

const withProperty = (change: (schema: Schema, chance: Chance) => unknown) => {
  return (object: JsonObject, chance: Chance, schema: Schema): unknown => {
    const names = chance.shuffle(Object.keys(schema.properties ?? {}))
    for (const name of names) {
      const value = change(schema.properties?.[name] ?? {}, chance)
      if (value !== undefined) return { ...object, [name]: value }
    }
    return undefined
  }
}

export const BODY_TWISTS: readonly Twist[] = [
  ofObject('property missing', (object, chance, schema) => {
    const present = (schema.required ?? Object.keys(object)).filter((name) => name in object)
    if (present.length === 0) return undefined
    const gone = chance.pick(present)
    return Object.fromEntries(Object.entries(object).filter(([name]) => name !== gone))
  }),
  ofObject(
    'property of another kind',
    withProperty((_schema, chance) => strangeValue(chance)),
  ),
  ofObject(
    'property out of bounds',
    withProperty((schema, chance) => outOfBounds(schema, chance)),
  ),
  ofObject(
    'property of strange text',
    withProperty((schema, chance) => (kindsOf(schema).includes('string') ? chance.pick(STRANGE_TEXTS) : undefined)),
  ),
  ofObject('property inside changed', (object, chance) => {
    const inner = Object.keys(object).filter((name) => typeof object[name] === 'object' && object[name] !== null)
    if (inner.length === 0) return undefined
    const name = chance.pick(inner)
    const held = object[name] as JsonObject
    const key = chance.pick([...Object.keys(held), 'new', 'proto!', 'constructor', 'length'])
    return { ...object, [name]: { ...held, [key]: strangeValue(chance) } }
  }),
  ofObject('unknown property', (object, chance) => ({ ...object, unheard: strangeValue(chance) })),
  ofObject('prototype property', (object, chance) => ({
    ...object,
    [chance.pick(['proto!', 'constructor', 'prototype'])]: { isAdmin: true, polluted: 1 },
  })),
  ofObject('deep nesting', (object, chance) => ({
    ...object,
    [chance.pick(Object.keys(object).concat('deep'))]: nested(chance.pick([90, 200, 1500]), 'object'),
  })),
  ofObject('no property', () => ({})),
  ofText('another value', (_text, chance) => chance.pick(['null', '[]', '1', '"text"', 'true', '[{}]', '{}'])),
  ofText('cut off', (text, chance) => text.slice(0, chance.between(0, Math.max(0, text.length - 1)))),
  ofText('text after it', (text, chance) => text + chance.pick([text, '}', ',', ' x', '\0', '//'])),
  ofText('duplicate keys', (text) =>
    text.startsWith('{') && text.length > 2 ? `{${text.slice(1, -1)},${text.slice(1)}` : '{"a":1,"a":2}',
  ),
  ofText('empty', (_text, chance) => chance.pick(['', ' ', '\n\n', '\ufeff'])),
  ofText('byte order mark', (text) => `\ufeff${text}`),
  ofText('broken UTF-8', (text) =>
    Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xff, 0xc0, 0x80]), Buffer.from('"}')]),
  ),
  ofText('UTF-16', (text) => Buffer.from(text, 'utf16le')),
  ofText('no JSON', (_text, chance) => chance.pick(['{a:1}', "{'a':1}", '{"a":NaN}', '{"a":01}', '<a/>', 'a=1&b=2'])),
  ofText('huge number', (text) => text.replace(/:("[^"]*"|\d+)/, ':1e999999')),
  ofText('number of many digits', (text) => text.replace(/:("[^"]*"|\d+)/, `:${'9'.repeat(5000)}`)),
  ofText('many keys', () => `{${Array.from({ length: 20_000 }, (_, at) => `"k${at}":${at}`).join(',')}}`),
  ofText('brackets only', (_text, chance) => chance.pick(['[', '{"a":']).repeat(50_000)),
  ofText('too large', () => `{"a":"${'x'.repeat(TOO_LARGE_BYTES)}"}`),
  {
    name: 'another content type',
    apply(draft, chance) {
      if (!draft.body) setBody(draft, Buffer.from('{}'), 'application/json')
      const types = [
        null,
        '',
        'text/plain',
        'application/xml',
        'application/x-www-form-urlencoded',
        'application/json; charset=utf-16',
        'application/json;;;=',
        'APPLICATION/JSON',
        'application/jsonx',
        'multipart/form-data',
        'multipart/form-data; boundary=',
        '\u0000',
        '*/*',
      ]
      setHeader(draft, 'content-type', chance.pick(types))
      return true
    },
  },
  {
    name: 'body where none belongs',
    apply(draft, chance) {
      if (draft.body) return false
      setBody(draft, Buffer.from(chance.pick(['{}', 'null', '[1]', 'x', '{"a":'])), 'application/json')
      return true
    },
  },
  {
    name: 'compressed by its header only',
    apply(draft, chance) {
      if (!draft.body) return false
      setHeader(draft, 'content-encoding', chance.pick(['gzip', 'br', 'deflate', 'zstd', 'x']))
      return true
    },
  },
]

function jsonOf(draft: Draft): unknown {
  if (!draft.body || !draft.headers.some(([, value]) => value === 'application/json')) return undefined
  return JSON.parse(draft.body.toString('utf8'))
}

/** The object among what a body may be. */
function objectSchemaOf(schema: Schema): Schema {
  return [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].find((one) => one.properties) ?? {}
}

function kindsOf(schema: Schema): string[] {
  return [schema, ...(schema.anyOf ?? [])].flatMap(({ type }) => type ?? [])
}

/** A value just beyond what a schema allows; undefined when it has no bound. */
function outOfBounds(schema: Schema, chance: Chance): unknown {
  const beyond = [schema, ...(schema.anyOf ?? [])].flatMap((one) => [
    ...(one.maxLength === undefined ? [] : ['x'.repeat(one.maxLength + 1)]),
    ...(one.minLength ? ['x'.repeat(one.minLength - 1)] : []),
    ...(one.minimum === undefined ? [] : [one.minimum - 1, one.minimum - 0.5]),
    ...(one.maximum === undefined ? [] : [one.maximum + 1, 2 ** 53]),
    ...(one.enum ? ['nothing of these', 7] : []),
    ...(one.pattern === undefined ? [] : ['\n', ',']),
    ...(one.maxItems === undefined ? [] : [Array.from({ length: one.maxItems + 1 }, () => 'x')]),
  ])
  return beyond.length === 0 ? undefined : chance.pick(beyond)
}
