import { wordsOfSecret } from '@holdfast/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** A text as a whole and as a stream in pieces of these sizes, after the words of the secrets were hidden. */
const ask = askPython(`
import base64
from holdfast_job.masking import Hider, StreamHider

def answer(question):
    words, data, sizes = question[0], base64.b64decode(question[1]), question[2]
    whole = Hider(words).hide_bytes(data)
    stream, out, at = StreamHider(words), [], 0
    for size in sizes:
        out.append(stream.feed(data[at:at + size]))
        at += size
    out.append(stream.feed(data[at:]))
    out.append(stream.finish())
    return [base64.b64encode(part).decode() for part in (whole, *out)]
`)

const MASK = '********'

async function hidden(secrets: readonly string[], data: Buffer | string, sizes: readonly number[] = []) {
  const words = secrets.flatMap((secret) => wordsOfSecret(secret))
  const answer = (await ask([words, Buffer.from(data).toString('base64'), sizes])) as string[]
  const [whole = Buffer.alloc(0), ...pieces] = answer.map((part) => Buffer.from(part, 'base64'))
  return { whole, pieces, stream: Buffer.concat(pieces) }
}

const bytesOf = (text: string) => [...Buffer.from(text)]
const letters = (text: string, form: (code: number) => string) =>
  [...text].map((letter) => form(letter.codePointAt(0) ?? 0)).join('')
const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0')
const json = (text: string) => JSON.stringify(text).slice(1, -1)
const ascii = (text: string) =>
  letters(text, (code) => (code < 128 ? String.fromCodePoint(code) : `\\u${hex(code, 4)}`))
const html = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
const percent = (text: string) => encodeURIComponent(text)

/** How programs write a text. */
const FORMS: Readonly<Record<string, (text: string) => string>> = {
  plainly: (text) => text,
  'as JSON': json,
  'as JSON of ASCII': (text) => ascii(json(text)),
  'as JSON with escaped slashes': (text) => json(text).replaceAll('/', String.raw`\/`),
  'as JSON in JSON in JSON': (text) => json(json(json(text))),
  'for a shell, in quotes': (text) => text.replaceAll("'", `'"'"'`),
  'for a shell, in other quotes': (text) => text.replaceAll("'", String.raw`'\''`),
  'for a shell, with backslashes': (text) => text.replaceAll(/[^A-Za-z0-9]/g, String.raw`\$&`),
  'with a backslash before each letter': (text) => text.replaceAll(/./gu, String.raw`\$&`),
  'in quotes of YAML': (text) => text.replaceAll("'", "''"),
  'in quotes of CSV': (text) => text.replaceAll('"', '""'),
  'as bytes in hexadecimal': (text) =>
    bytesOf(text)
      .map((byte) => `\\x${hex(byte, 2)}`)
      .join(''),
  'as bytes in capitals': (text) =>
    bytesOf(text)
      .map((byte) => `\\x${hex(byte, 2).toUpperCase()}`)
      .join(''),
  'as octal bytes': (text) =>
    bytesOf(text)
      .map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
      .join(''),
  'as octal bytes for echo': (text) =>
    bytesOf(text)
      .map((byte) => `\\0${byte.toString(8).padStart(3, '0')}`)
      .join(''),
  'as codes of Unicode': (text) => letters(text, (code) => `\\u${hex(code, 4)}`),
  'as long codes of Unicode': (text) => letters(text, (code) => `\\U${hex(code, 8)}`),
  'as codes in braces': (text) => letters(text, (code) => `\\u{${hex(code, 1)}}`),
  'in a URL': percent,
  'in a URL, in small letters': (text) => percent(text).replaceAll(/%../g, (part) => part.toLowerCase()),
  'in a form of the web': (text) => percent(text).replaceAll('%20', '+'),
  'in a URL, each byte': (text) =>
    bytesOf(text)
      .map((byte) => `%${hex(byte, 2)}`)
      .join(''),
  'in a URL in a URL': (text) => percent(percent(text)),
  'in HTML': html,
  'in HTML, as numbers': (text) => letters(text, (code) => `&#${code};`),
  'in HTML, as hexadecimal numbers': (text) => letters(text, (code) => `&#x${hex(code, 2)};`),
  'in HTML in JSON': (text) => json(html(text)),
  'in a URL in JSON of ASCII': (text) => ascii(json(percent(text))),
  'in JSON in a URL': (text) => percent(json(text)),
  'in base64': (text) => Buffer.from(text).toString('base64'),
  'in base64 behind a user': (text) => Buffer.from(`user:${text}:`).toString('base64'),
  'in base64 for URLs': (text) => Buffer.from(text).toString('base64url'),
  'in base64 in a URL': (text) => percent(Buffer.from(text).toString('base64')),
  'in hexadecimal digits': (text) => Buffer.from(text).toString('hex'),
}

const SECRETS = [
  `it's "7\\ é<&>/+%`,
  'correct horse-battery?staple',
  'Zx81_plain9Word',
  `\\n%41&amp;''"" x\\\\`,
  '€uro/p@ss;w0rd=',
]

describe('a secret', () => {
  test.each(Object.entries(FORMS))('is hidden where it is written %s', async (_, form) => {
    for (const secret of SECRETS) {
      const written = form(secret)
      for (const size of [1000, 1, 5]) {
        const text = `msg: "${written}" end\n`
        const { whole, stream } = await hidden(
          [secret],
          text,
          new Array<number>(Math.ceil(text.length / size)).fill(size),
        )
        expect(whole.toString(), secret).toContain(MASK)
        // What is left of base64 is what the neighbours share with it.
        expect(whole.toString(), secret).not.toContain(written.slice(5, -6))
        expect(stream.toString(), secret).toBe(whole.toString())
      }
    }
  })

  test('is hidden where programs write some of its letters in one way and some in another', async () => {
    const ways = [json, percent, html, ascii, FORMS['as bytes in hexadecimal'], FORMS['as octal bytes']]
    const secret = fc.string({ unit: fc.constantFrom(...'abXY09.,:;=@#$!?*-_~'), minLength: 8, maxLength: 24 })
    await fc.assert(
      fc.asyncProperty(secret, fc.array(fc.nat(ways.length - 1)), fc.array(fc.nat(9)), async (text, kinds, sizes) => {
        const written = [...text].map((letter, at) => ways[kinds[at] ?? 0]?.(letter) ?? letter).join('')
        const { whole, stream } = await hidden([text], `> ${written} <`, sizes)
        expect([whole.toString(), stream.toString()]).toEqual([`> ${MASK} <`, `> ${MASK} <`])
      }),
      { numRuns: 400 },
    )
  })

  test('is in no output, whatever it is, however it is written and wherever the output is cut', async () => {
    const secret = fc.string({ unit: fc.constantFrom(...`aZ9 '"\\/%+&<>=é€`), minLength: 10, maxLength: 30 })
    const form = fc.constantFrom(...Object.values(FORMS))
    await fc.assert(
      fc.asyncProperty(
        secret,
        form,
        fc.array(fc.nat(12)),
        fc.constantFrom('', ' ', '\n', '"', 'x'),
        async (one, write, sizes, around) => {
          const text = one.trim()
          fc.pre(text.length >= 10)
          const written = write(text)
          const { whole, stream } = await hidden([text], `${around}${written}${around}`, sizes)
          expect(whole.toString()).not.toContain(written)
          expect(stream.toString()).toBe(whole.toString())
        },
      ),
      { numRuns: 1500 },
    )
  })
})

describe('a secret that a line end breaks', () => {
  const secret = 'the Secret9 of-this-job'
  test.each([
    ['in the middle of a word', 'warning: the Sec\nret9 of-this-job.', `warning: ${MASK}\n${MASK}.`],
    ['at a blank', 'warning: the Secret9\nof-this-job.', `warning: ${MASK}\n${MASK}.`],
    ['with white space around', 'warning: the Sec\r\n    ret9 of-this-job.', `warning: ${MASK}\r\n    ${MASK}.`],
    [
      'with colours',
      '\x1b[35mthe Sec\x1b[0m\n\x1b[35mret9 of-this-job\x1b[0m',
      `\x1b[35m${MASK}\x1b[0m\n\x1b[35m${MASK}\x1b[0m`,
    ],
    ['twice', 'the Sec\nret9 of-\nthis-job', `${MASK}\n${MASK}\n${MASK}`],
    ['behind a backslash', 'the Sec\\\nret9 of-this-job', `${MASK}\\\n${MASK}`],
    ['in JSON', String.raw`"the Sec\nret9 of-this-job"`, `"${MASK}\\n${MASK}"`],
  ])('is hidden: %s', async (_, text, shown) => {
    for (const sizes of [[], new Array<number>(text.length).fill(1)]) {
      const { whole, stream } = await hidden([secret], text, sizes)
      expect([whole.toString(), stream.toString()]).toEqual([shown, shown])
    }
  })

  test('is hidden in base64 of any width', async () => {
    const encoded = Buffer.from(`user:${secret}${secret}`).toString('base64')
    for (const width of [16, 20, 31, 60]) {
      const lines = encoded.match(new RegExp(`.{1,${width}}`, 'g')) ?? []
      const { whole } = await hidden([secret], lines.join('\n  '))
      expect(whole.toString().replaceAll(/[*\s]/g, '').length, whole.toString()).toBeLessThan(16)
    }
  })

  test('makes no line late of which it may be the next one', async () => {
    const { pieces } = await hidden(['Secret9word'], 'TASK [S\nok: Sec\n', [8])
    expect(pieces.map(String)).toEqual(['TASK [S\n', 'ok: Sec\n', ''])
  })

  test('shorter than eight characters is not looked for across lines', async () => {
    expect((await hidden(['ab9cd'], 'ab9\ncd ab9cd')).whole.toString()).toBe(`ab9\ncd ${MASK}`)
  })
})

describe('ordinary output', () => {
  const ordinary = fc.array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '\n',
        '\x1b[0;32mok: [web1]\x1b[0m\n',
        '{"a": "b\\n\\"c\\""}',
        '100% ',
        '&amp;',
        "''",
        '\\',
        '\\x',
        '%4',
        '&#',
      ),
    ),
    { maxLength: 30 },
  )

  test('stays as it is, byte by byte, however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(ordinary, fc.array(fc.nat(20)), async (parts, sizes) => {
        const text = Buffer.from(parts.join(''))
        const { whole, stream } = await hidden(['qQ7_never-there', `qQ7'"never`], text, sizes)
        expect(whole.equals(text)).toBe(true)
        expect(stream.equals(text)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('is not held back for ever when only ends of lines follow what may be the beginning of a secret', async () => {
    const text = `Secret9${'\n'.repeat(300_000)}`
    const { pieces, stream } = await hidden(['Secret9word'], text, [100_000, 100_000])
    expect(pieces.slice(0, 2).reduce((sum, piece) => sum + piece.length, 0)).toBeGreaterThan(100_000)
    expect(stream.toString()).toBe(text)
  })

  // Each takes minutes if the time grows with the square of the length.
  test.each(['\\', '%41', '&', "'", '"', '\\n', '\\a', '\n', '\x1b[', 'aaa"', 'a', '",'])(
    'of nothing but %j takes no more time for each byte when there is more of it',
    async (part) => {
      const text = part.repeat(500_000 / part.length)
      const { stream } = await hidden(['bbbbbbbbb', `it's "x`], text, new Array<number>(8).fill(60_000))
      expect(stream.length).toBe(text.length)
    },
  )

  test('is not held back behind the beginning of a very long secret', async () => {
    const long = Array.from({ length: 40_000 }, (_, at) => String.fromCodePoint(97 + ((at * 7919) % 26))).join('')
    const { pieces } = await hidden([long], long.slice(0, 30_000), [10_000, 10_000])
    const given = pieces.slice(0, 2).reduce((sum, piece) => sum + piece.length, 0)
    expect(given).toBeGreaterThan(0)
    expect(Buffer.concat(pieces).toString()).toContain(MASK)
  })
})
