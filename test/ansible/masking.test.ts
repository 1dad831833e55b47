import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { wordsOfSecret } from '@holdfast/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agentFolder, fixtures, python } from './job-folder.js'

interface Task {
  readonly values: readonly string[]
  readonly data: Buffer
  /** Sizes of the pieces; what is left is one more. */
  readonly pieces: readonly number[]
}

interface Answer {
  readonly pieces: readonly Buffer[]
  readonly whole: Buffer
}

/** Hides values in data as the supervisor does, in one Python for all tasks. */
function hideAll(tasks: readonly Task[]): Answer[] {
  const input = tasks
    .map((task) =>
      JSON.stringify({
        ...task,
        values: task.values.flatMap((value) => wordsOfSecret(value)),
        data: task.data.toString('base64'),
      }),
    )
    .join('\n')
  const program = [join(fixtures, 'masking/stream.py'), agentFolder]
  const output = execFileSync(python, program, { input, maxBuffer: 256 * 1024 * 1024 }).toString()
  return output
    .trim()
    .split('\n')
    .map((line) => {
      const answer = JSON.parse(line) as { pieces: string[]; whole: string }
      return {
        pieces: answer.pieces.map((piece) => Buffer.from(piece, 'base64')),
        whole: Buffer.from(answer.whole, 'base64'),
      }
    })
}

function hide(values: readonly string[], text: string): string {
  const [answer] = hideAll([{ values, data: Buffer.from(text), pieces: [] }])
  return answer?.whole.toString() ?? ''
}

const KEY = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACDZc5Vg1dD0vJYfW9o0ZcEXAMPLEonlyAAAAJhG0XzARtF8wAAAAAtzc2gt
-----END OPENSSH PRIVATE KEY-----
`

describe('a secret', () => {
  const value = `p"ä's\\w&rd/+%`
  const bytes = Buffer.from(value)
  test.each<[string, string]>([
    ['as it is', value],
    ['in JSON', JSON.stringify(value).slice(1, -1)],
    ['in JSON with ASCII only', 'p\\"\\u00e4\'s\\\\w&rd/+%'],
    ['in JSON inside of JSON', JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1)],
    ['as Python shows it', `p"ä\\'s\\\\w&rd/+%`],
    ['in base64', bytes.toString('base64').replace(/=+$/, '')],
    ['in base64 for URLs', bytes.toString('base64url')],
    ['in base64, URL-encoded', encodeURIComponent(bytes.toString('base64').replace(/=+$/, ''))],
    ['URL-encoded', encodeURIComponent(value).replaceAll("'", '%27')],
    ['URL-encoded with small letters', 'p%22%c3%a4%27s%5cw%26rd%2f%2b%25'],
    ['in HTML', "p&quot;ä's\\w&amp;rd/+%"],
    ['in a shell’s quotes', `p"ä'"'"'s\\w&rd/+%`],
  ])('%s is hidden', (_, form) => {
    expect(hide([value], `before ${form} after`)).toBe('before ******** after')
  })

  test.each([0, 1, 2, 3, 4])('with %i bytes before it is hidden in base64', (before) => {
    const secret = 'correct horse battery'
    const encoded = Buffer.from(`${'u'.repeat(before)}:${secret}:more`).toString('base64')
    const shown = hide([secret], encoded)
    expect(shown).toContain('********')
    // What is left holds at most the neighbours and the bits that the secret shares with them.
    expect(Buffer.from(shown.split('********')[0] ?? '', 'base64').toString().length).toBeLessThanOrEqual(before + 2)
  })

  test('of several lines is hidden line by line, in one line of JSON, and in wrapped base64', () => {
    const lines = KEY.trimEnd().split('\n')
    const colored = lines.map((line) => `\u001b[0;32m    ${line}\u001b[0m`).join('\n')
    expect(hide([KEY], colored)).toBe(
      [lines[0], '********', '********', lines[3]].map((line) => `\u001b[0;32m    ${line ?? ''}\u001b[0m`).join('\n'),
    )
    expect(hide([KEY], `"msg": ${JSON.stringify(KEY)}`)).toBe('"msg": "********\\n"')
    const wrapped = (
      Buffer.from(KEY.trim())
        .toString('base64')
        .match(/.{1,76}/g) ?? []
    ).join('\n')
    expect(hide([KEY], wrapped).replaceAll('\n', '')).toMatch(/^\**[^*]{0,8}$/)
  })

  test('shorter than 4 characters is not hidden; the limit is 4', () => {
    expect(hide(['abc', 'wxyz'], 'abc wxyz')).toBe('abc ********')
  })

  test('that overlaps another leaves nothing of either', () => {
    expect(hide(['abcdef', 'defghi', 'hijk'], 'xabcdefghijky')).toBe('x********y')
    expect(hide(['aaaa'], 'aaaaaa')).toBe('********')
    expect(hide(['abcd', 'abcdefgh'], 'abcd abcdefgh')).toBe('******** ********')
  })
})

describe('a stream', () => {
  test('cut anywhere is hidden as the whole would be', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '\n', 'ä'), maxLength: 60 })
    const values = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'ä'), minLength: 4, maxLength: 9 }), {
      minLength: 1,
      maxLength: 4,
    })
    const task = fc.record({ values, text: letters, pieces: fc.array(fc.nat({ max: 7 }), { maxLength: 30 }) })
    const tasks = fc.sample(task, 3000).map(({ text, ...rest }) => ({ ...rest, data: Buffer.from(text) }))
    hideAll(tasks).forEach(({ pieces, whole }, index) => {
      expect(Buffer.concat(pieces).toString(), JSON.stringify(tasks[index])).toBe(whole.toString())
    })
  })

  test('cut anywhere is hidden as the whole would be, also with long secrets that begin alike', () => {
    const long = 'ab'.repeat(150)
    const values = [`${long}c`, `${long}ab\nline of it`, 'abab c', `x${long}`]
    const text = fc.array(fc.constantFrom('ab', 'c', 'x', long, `${long}c`, `${long}ab`, '\nline of it', ' ', 'abab'), {
      maxLength: 12,
    })
    const task = fc.record({ text, pieces: fc.array(fc.nat({ max: 200 }), { maxLength: 20 }) })
    const tasks = fc
      .sample(task, 1500)
      .map((one) => ({ values, pieces: one.pieces, data: Buffer.from(one.text.join('')) }))
    hideAll(tasks).forEach(({ pieces, whole }, index) => {
      expect(Buffer.concat(pieces).toString(), JSON.stringify(tasks[index])).toBe(whole.toString())
    })
  })

  test('of single bytes is hidden as the whole would be, with a private key too', () => {
    const data = Buffer.from(`one ${KEY}two ${JSON.stringify(KEY)} three ${Buffer.from(KEY).toString('base64')} end`)
    const [answer] = hideAll([{ values: [KEY, 'two words'], data, pieces: new Array<number>(data.length).fill(1) }])
    expect(Buffer.concat(answer?.pieces ?? []).toString()).toBe(answer?.whole.toString())
    expect(answer?.whole.toString()).not.toContain('b3BlbnNzaC1rZXktdjEA')
  })

  test('is late only by what may be the beginning of a secret', () => {
    const data = Buffer.from('TASK [x]\nok: [host]\nmy pass')
    const [answer] = hideAll([{ values: ['password of mine'], data, pieces: [data.length] }])
    expect(answer?.pieces.map(String)).toEqual(['TASK [x]\nok: [host]\nmy ', '', 'pass'])
  })

  test('of bytes that are no text is left as it is beside the secrets', () => {
    const noise = Buffer.from(Array.from({ length: 1024 }, (_, index) => index % 256))
    const data = Buffer.concat([noise, Buffer.from('secret-value'), noise])
    const [answer] = hideAll([{ values: ['secret-value'], data, pieces: [7, 1020, 3] }])
    expect(Buffer.concat(answer?.pieces ?? [])).toEqual(Buffer.concat([noise, Buffer.from('********'), noise]))
  })
})
