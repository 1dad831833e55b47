import { expect, test } from 'vitest'
import { isMailAddress } from '../../control-plane/src/notifications/mail-settings.js'

test('an address has at most 254 characters, 64 of them before the @', () => {
  const domain = (length: number) => `a.${'b'.repeat(length - 2)}`
  expect(isMailAddress(`${'x'.repeat(64)}@${domain(189)}`)).toBe(true)
  expect(isMailAddress(`${'x'.repeat(64)}@${domain(190)}`)).toBe(false)
  expect(isMailAddress(`${'x'.repeat(65)}@example.com`)).toBe(false)
  for (const text of ['a@b\r\nBcc: c@d', 'a@b, c@d', '<a@b>', 'a b@c', '@b', 'a@', 'a@b.']) {
    expect([text, isMailAddress(text)]).toEqual([text, false])
  }
})
