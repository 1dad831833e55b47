import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PLAIN, parseLine, plainTextOf, styleAfter, textOf } from '../../../control-plane/web/src/log/ansi.js'
import { createLogLines } from '../../../control-plane/web/src/log/lines.js'
import { createLogStore } from '../../../control-plane/web/src/log/store.js'

const parsed = (text: string) => parseLine(text, PLAIN).pieces
const shown = (text: string) => textOf(parsed(text))

test('colours become classes, and the end of a colour ends them', () => {
  expect(parsed('\x1b[0;32mok: [web1]\x1b[0m done')).toEqual([
    { text: 'ok: [web1]', look: 'log-f2' },
    { text: ' done', look: '' },
  ])
  expect(parsed('\x1b[1;91;44mx')).toEqual([{ text: 'x', look: 'log-f9 log-b4 log-bold' }])
  expect(parsed('\x1b[38;5;196ma\x1b[38;2;0;250;0mb\x1b[38:5:33mc')).toEqual([
    { text: 'a', look: 'log-f9' },
    { text: 'b', look: 'log-f10' },
    { text: 'c', look: 'log-f12' },
  ])
  expect(parsed('\x1b[7mx')).toEqual([{ text: 'x', look: 'log-inverse' }])
})

test.each([
  ['a link of the terminal', '\x1b]8;;https://evil.example\x1b\\text\x1b]8;;\x1b\\', 'text'],
  ['a title', '\x1b]0;title\x07text', 'text'],
  ['moves of the cursor', '\x1b[2J\x1b[10;10Htext\x1b[K', 'text'],
  ['another character set', '\x1b(Btext\x1b=', 'text'],
  ['a device string', '\x1bP1$r\x1b\\text', 'text'],
  ['a private SGR', '\x1b[>4;2mtext\x1b[?25h', 'text'],
  ['one that never ends', '\x1b]0;all of this', '␛]0;all of this'],
  ['a return that would hide what was before', 'failed\rok', 'failed␍ok'],
  ['a backspace', 'no\b\byes', 'no␈␈yes'],
  ['the end of a line of Windows', 'text\r', 'text'],
  ['a change of direction', 'a\u202eb', 'a<U+202E>b'],
])('of escapes and control characters, %s does no more than it may', (_name, text, expected) => {
  expect(shown(text)).toBe(expected)
})

test('only addresses of the web become links, without the full stop behind them', () => {
  expect(parsed('see https://example.org/a?b=1. Or javascript:alert(1)')).toEqual([
    { text: 'see ', look: '' },
    { text: 'https://example.org/a?b=1', look: '', link: 'https://example.org/a?b=1' },
    { text: '. Or javascript:alert(1)', look: '' },
  ])
  expect(parsed('data:text/html,<b> ftp://x')).toEqual([{ text: 'data:text/html,<b> ftp://x', look: '' }])
})

const mixed = fc.array(
  fc.constantFrom(
    'text',
    ' ',
    '\x1b[31m',
    '\x1b[1m',
    '\x1b[0m',
    '\x1b[m',
    '\x1b[44m',
    '\x1b[39m',
    '\x1b',
    '[',
    '\x1b[2J',
    'é',
    '\r',
  ),
  { maxLength: 30 },
)

test('nothing of a control character reaches the page, and a look is made of known classes only', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        mixed.map((parts) => parts.join('')),
        fc.string({ unit: 'binary', maxLength: 60 }),
      ),
      (text) => {
        const line = text.replaceAll('\n', '')
        expect(plainTextOf(line)).toBe(shown(line))
        for (const piece of parsed(line)) {
          expect(piece.text).not.toMatch(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
          expect(piece.look).toMatch(/^(log-(f\d+|b\d+|[a-z]+)( |$))*$/)
        }
      },
    ),
    { seed: 21, numRuns: 40 },
  )
})

test('what is set at a line is the same, whether the lines before were parsed or only looked through', () => {
  fc.assert(
    fc.property(
      fc.array(
        mixed.map((parts) => parts.join('').replaceAll('\x1b[2J', '')),
        { maxLength: 8 },
      ),
      (lines) => {
        let style = PLAIN
        for (const line of lines) style = parseLine(line, style).style
        expect(styleAfter(Buffer.from(lines.map((line) => `${line}\n`).join('')))).toEqual(style)
      },
    ),
    { seed: 22, numRuns: 60 },
  )
})

test('while a line grows, it shows the beginning of what it will be, and no piece of an escape', () => {
  const parts = [
    'text',
    'é✓😀',
    '\x1b[31m',
    '\x1b[0m',
    '\x1b[38;5;196m',
    '\x1b]8;;https://a.example\x1b\\',
    '\x1b]0;title\x07',
  ]
  const lines = fc.array(fc.constantFrom(...parts, '\x1b(B', '\x1b[2J', '\u009b1m', '\x1b=', '\x1bP1$r\x1b\\'), {
    maxLength: 12,
  })
  fc.assert(
    fc.property(lines, (line) => {
      const bytes = Buffer.from(line.join(''))
      const store = createLogStore()
      const growing = createLogLines(store, () => true)
      const whole = shown(line.join(''))
      for (let at = 0; at < bytes.length; at += 1) {
        store.append(at, bytes.subarray(at, at + 1))
        expect(whole.startsWith(growing.text(0) ?? '?')).toBe(true)
      }
      expect(growing.text(0) ?? '').toBe(whole)
      // What has ended like this is shown: it could hide text.
      store.append(bytes.length, Buffer.from('\x1b]0;hidden'))
      expect(growing.text(0)).toBe(whole)
      expect(createLogLines(store, () => false).text(0)).toBe(`${whole}␛]0;hidden`)
    }),
    { seed: 23, numRuns: 100 },
  )
})
