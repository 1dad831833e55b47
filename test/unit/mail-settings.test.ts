import { SettingsError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { isMailAddress, mailSettingsOf } from '../../control-plane/src/notifications/mail-settings.js'

const NONE = {
  SMTP_HOST: null,
  SMTP_PORT: 587,
  SMTP_TLS: 'starttls',
  SMTP_USER: null,
  SMTP_PASSWORD: null,
  MAIL_FROM: null,
}
const PLAIN = { ...NONE, SMTP_HOST: 'mail.example', MAIL_FROM: 'jobs@example.com' }

test('without a mail server there are no mails', () => {
  expect(mailSettingsOf(NONE)).toBeNull()
  expect(mailSettingsOf({ ...NONE, MAIL_FROM: 'no address' })).toBeNull()
})

test('nobody signs in without a name', () => {
  const plain = { host: 'mail.example', port: 587, tls: 'starttls', login: null, from: 'jobs@example.com' }
  expect(mailSettingsOf(PLAIN)).toEqual(plain)
  const login = { user: 'jobs', password: 'secret' }
  expect(mailSettingsOf({ ...PLAIN, SMTP_USER: 'jobs', SMTP_PASSWORD: 'secret' })).toEqual({ ...plain, login })
})

test.each([
  ['starttls', 'starttls'],
  ['tls', 'tls'],
  ['none', 'none'],
])('SMTP_TLS %s is kept', (given, tls) => {
  expect(mailSettingsOf({ ...PLAIN, SMTP_TLS: given })).toMatchObject({ tls })
})

test.each([
  [{ MAIL_FROM: null }, 'MAIL_FROM: is needed when SMTP_HOST is set'],
  [{ MAIL_FROM: 'jobs' }, 'MAIL_FROM: must be a mail address, not "jobs"'],
  [{ SMTP_USER: 'jobs' }, 'SMTP_PASSWORD: is needed, too: give both or none'],
  [{ SMTP_PASSWORD: 'secret' }, 'SMTP_USER: is needed, too: give both or none'],
])('%j is refused', (changed, words) => {
  expect(() => mailSettingsOf({ ...PLAIN, ...changed })).toThrow(new SettingsError(words))
})

test('an address has at most 254 characters, 64 of them before the @', () => {
  const domain = (length: number) => `a.${'b'.repeat(length - 2)}`
  expect(isMailAddress(`${'x'.repeat(64)}@${domain(189)}`)).toBe(true)
  expect(isMailAddress(`${'x'.repeat(64)}@${domain(190)}`)).toBe(false)
  expect(isMailAddress(`${'x'.repeat(65)}@example.com`)).toBe(false)
  for (const text of ['a@b\r\nBcc: c@d', 'a@b, c@d', '<a@b>', 'a b@c', '@b', 'a@', 'a@b.']) {
    expect([text, isMailAddress(text)]).toEqual([text, false])
  }
})
