import { wordsOfSecret } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** What is looked for, for given secrets, and what becomes of a text then: as a whole, and as a stream in pieces. */
const ask = askPython(`
from holdfast_job import masking

def answer(question):
    do, values, *rest = question
    if do == "needles": return sorted(needle.decode() for needle in masking.needles_of(values))
    if do == "hide": return [masking.Hider(values).hide(text) for text in rest[0]]
    if do == "occurs": return [masking.Hider(values).occurs_in(text) for text in rest[0]]
    if do == "spans": return masking.Hider(values).spans(rest[0].encode())
    stream = masking.StreamHider(values)
    return [stream.feed(piece.encode()).decode() for piece in rest[0]] + [stream.finish().decode()]
`)

const wordsOf = (values: readonly string[]): string[] => values.flatMap((value) => wordsOfSecret(value))
const hide = async (values: readonly string[], ...texts: string[]): Promise<unknown> =>
  ask(['hide', wordsOf(values), texts])
const occurs = async (values: readonly string[], ...texts: string[]): Promise<unknown> =>
  ask(['occurs', wordsOf(values), texts])
const stream = async (values: readonly string[], ...pieces: string[]): Promise<unknown> =>
  ask(['stream', wordsOf(values), pieces])

const MASK = '********'
const base64 = (text: string): string => Buffer.from(text).toString('base64').replace(/=+$/, '')

describe('a secret of several lines', () => {
  test.each([
    ['two', ['first line', 'second line']],
    ['three', ['first line', 'second line', 'third line']],
  ])('is hidden line by line: %s', async (_, lines) => {
    expect(await hide([lines.join('\n')], ...lines.map((line) => `> ${line} <`))).toEqual(
      lines.map(() => `> ${MASK} <`),
    )
  })

  test('has lines of four characters hidden, and none that are shorter', async () => {
    expect(await hide(['abcd\nxyz\n  indented  '], 'abcd', 'xyz', 'indented')).toEqual([MASK, 'xyz', MASK])
  })

  test('does not hide the beginning and the end of a key, which are the same for every key', async () => {
    const begin = '-----BEGIN PRIVATE KEY-----'
    expect(await hide([`${begin}\nMIIEvQIBADAN\n`], begin, 'MIIEvQIBADAN')).toEqual([begin, MASK])
  })

  test('is hidden without the white space around it', async () => {
    expect(await hide(['  the secret \n'], 'is the secret.')).toEqual([`is ${MASK}.`])
  })
})

describe('a secret with quotes', () => {
  test.each([
    ["it's mine", "it''s mine", 'as YAML doubles them'],
    ["it's mine", `it'"'"'s mine`, 'as a shell ends them'],
    ['say "it"', 'say \\"it\\"', 'as JSON escapes them'],
    ['say "it"', 'say \\\\\\"it\\\\\\"', 'as JSON in JSON escapes them'],
    ['say "it"', 'say &quot;it&quot;', 'as HTML escapes them'],
  ])('%s is hidden: %s (%s)', async (value, form) => {
    expect(await hide([value], `> ${form} <`)).toEqual([`> ${MASK} <`])
  })
})

describe('base64', () => {
  test('of four bytes is hidden, and of three it is not', async () => {
    expect(await hide(['wxyz'], base64('wxyz'))).toEqual([MASK])
    expect(await ask(['needles', ['abc']])).toEqual([])
  })

  test('in the middle of other base64 is hidden from eight characters on', async () => {
    const inside = (before: string, value: string): string => base64(`${before}${value}???`)
    const [hidden, shown, third] = (await Promise.all([
      hide(['7777777'], inside('u', '7777777')),
      hide(['666666'], inside('u', '666666')),
      hide(['7777777'], inside('uu', '7777777')),
    ])) as [string[], string[], string[]]
    expect(hidden[0]).toContain(MASK)
    expect(shown).toEqual([inside('u', '666666')])
    expect(third[0]).toContain(MASK)
  })

  test.each([76, 64])('in lines of %i characters is hidden when a line has eight of them', async (width) => {
    const bytes = (count: number): string => 'qwertzuiop'.repeat(20).slice(0, count)
    const lastLineOf = async (characters: number): Promise<unknown> => {
      const value = bytes(Math.floor(((width + characters) * 3) / 4))
      const lines = [base64(value).slice(0, width), base64(value).slice(width)]
      expect(lines[1]).toHaveLength(characters)
      return hide([value], ...lines)
    }
    expect(await lastLineOf(8)).toEqual([MASK, MASK])
    const [first, last] = (await lastLineOf(7)) as string[]
    expect([first, last === MASK]).toEqual([MASK, false])
  })

  test('of exactly one line is hidden as a whole', async () => {
    const value = 'q'.repeat(57)
    expect(base64(value)).toHaveLength(76)
    expect(await hide([value], base64(value))).toEqual([MASK])
  })
})

describe('whether a secret occurs', () => {
  const short = 'my secret'
  const long = 'abcdefghij0123456789ABCDEFGHIJ'

  test.each([
    ['a short one', [short], [`is ${short}.`, 'is my secre.', '', long], [true, false, false, false]],
    ['one long word', [long], [`is ${long}.`, `is ${long.slice(1)}.`, '', short], [true, false, false, false]],
    ['both', [short, long], [short, `x${long}x`, `${short} ${long}`, 'neither'], [true, true, true, false]],
    ['none', [], ['any text', ''], [false, false]],
  ])('is known: %s', async (_, values, texts, expected) => {
    expect(await occurs(values, ...texts)).toEqual(expected)
  })
})

describe('parts that are hidden', () => {
  test.each<[string, string[], string, number[][]]>([
    [
      'apart from each other',
      ['abcd', 'wxyz'],
      'abcd-wxyz',
      [
        [0, 4],
        [5, 9],
      ],
    ],
    ['that touch are one', ['abcd', 'wxyz'], 'abcdwxyz', [[0, 8]]],
    ['that overlap are one', ['abcd', 'cdef'], '-abcdef-', [[1, 7]]],
    ['one inside of another', ['abcdefgh', 'cdef'], 'abcdefgh', [[0, 8]]],
    ['that overlap themselves', ['abab'], 'xababab', [[1, 7]]],
    ['of long words among others', ['x'.repeat(24)], `- ${'x'.repeat(25)} -`, [[2, 27]]],
    ['of long words that are not there', ['x'.repeat(24)], `- ${'x'.repeat(23)} ${'y'.repeat(30)}`, []],
    ['none', ['abcd'], 'abc', []],
  ])('%s', async (_, values, text, expected) => {
    expect(await ask(['spans', values, text])).toEqual(expected)
  })

  test('leave the text between them as it is', async () => {
    expect(await hide(['abcd'], 'abcd', 'xabcd', 'abcdx', 'x abcd y abcd z')).toEqual([
      MASK,
      `x${MASK}`,
      `${MASK}x`,
      `x ${MASK} y ${MASK} z`,
    ])
  })
})

describe('a stream', () => {
  test('holds back only the beginning of a secret', async () => {
    expect(await stream(['abcdef'], 'xab', 'cd', 'ef', 'y')).toEqual(['x', '', MASK, 'y', ''])
    expect(await stream(['abcdef'], 'xab', 'cx')).toEqual(['x', 'abcx', ''])
    expect(await stream(['abcdef'], 'xabcde')).toEqual(['x', 'abcde'])
    expect(await stream(['abcdef'], 'abcdefabc', 'def.')).toEqual([MASK, '.', ''])
  })

  test('has one mask for secrets that overlap, also when the second one comes later', async () => {
    expect(await stream(['abcdef', 'efghij'], 'xabcdef', 'ghijy')).toEqual([`x${MASK}`, 'y', ''])
    expect(await stream(['abcdef', 'efghij'], 'xabcdef', 'gy')).toEqual([`x${MASK}`, 'gy', ''])
    expect(await stream(['abcdef', 'efghij'], 'xabcdefgh')).toEqual([`x${MASK}`, 'gh'])
  })

  test('waits with a secret that may be the beginning of a longer one', async () => {
    expect(await stream(['abcd', 'abcdefgh'], 'abcd', 'efgh', '.')).toEqual(['', MASK, '.', ''])
    expect(await stream(['abcd', 'abcdefgh'], 'abcd', 'ef.')).toEqual(['', `${MASK}ef.`, ''])
  })

  test('gives a secret again as often as it comes', async () => {
    expect(await stream(['abcdef'], 'abcdef', ' ', 'abcdef')).toEqual([MASK, ' ', MASK, ''])
    expect(await stream(['abcdef'], 'abcdef', 'abcdef')).toEqual([MASK, '', ''])
  })

  test.each([127, 128, 129, 130, 300])('hides a secret of %i bytes, wherever it is cut', async (length) => {
    const secret = `s${'0123456789 '.repeat(40)}`.slice(0, length - 1) + '!'
    for (const at of [1, 2, 3, 4, 15, 16, 17, 100, length - 2, length - 1]) {
      const shown = await stream([secret], `before ${secret.slice(0, at)}`, `${secret.slice(at)} after`)
      expect(shown, `cut at ${at}`).toEqual(['before ', `${MASK} after`, ''])
      // What only begins like it is shown as it is.
      expect(await stream([secret], `before ${secret.slice(0, at)}`, ' after')).toEqual([
        'before ',
        `${secret.slice(0, at)} after`,
        '',
      ])
    }
  })

  test.each([10, 128, 129, 300])('does not hold back a secret of %i bytes that is whole', async (length) => {
    const secret = '0123456789 '.repeat(40).slice(0, length - 1) + '!'
    expect(await stream([secret], `before ${secret}`, ' after')).toEqual([`before ${MASK}`, ' after', ''])
  })

  test('holds back the earliest place where a long secret may begin', async () => {
    const [one, two] = [`${'ab'.repeat(100)}!`, `b${'ab'.repeat(90)}?`]
    const begun = 'ab'.repeat(80)
    expect(await stream([one, two], `.${begun}`, `${one.slice(begun.length)}.`)).toEqual(['.', `${MASK}.`, ''])
    expect(await stream([one, two], `.${begun}`, `${two.slice(begun.length - 1)}.`)).toEqual(['.', `a${MASK}.`, ''])
  })
})
