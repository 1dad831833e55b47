import { expect, test } from 'vitest'
import { logLineText } from '../../protocol/src/log-line.js'

test('a name in a log of text can neither begin a line nor send commands to a terminal', () => {
  const hostile = 'a\nb\u001b]52;c;eA==\u0007\u009b2J\u202ec'
  const line = logLineText(JSON.stringify({ time: 't', level: 'warn', msg: hostile, name: hostile, [hostile]: 1 }))
  expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
  expect(line.endsWith('\n')).toBe(true)
})
