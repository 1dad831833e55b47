import { resolve } from 'node:path'
import { SettingsError } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { readSettings } from '../../control-plane/src/settings.js'
import { CONTROL_PLANE_SETTINGS } from '../../control-plane/src/settings-table.js'

const read = (environment: Record<string, string>) =>
  readSettings({ environment, flags: {}, readFile: () => 'from-a-file,-long-enough' }, false)

/** Settings that some secrets need beside them. */
const BESIDE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  VAULT_TOKEN: { VAULT_ADDR: 'https://vault.example' },
  VAULT_SECRET_ID: { VAULT_ADDR: 'https://vault.example', VAULT_ROLE_ID: 'role' },
  SMTP_PASSWORD: { SMTP_HOST: 'mail.example', MAIL_FROM: 'jobs@example.com', SMTP_USER: 'jobs' },
}

describe('what is secret', () => {
  const names = Object.entries(CONTROL_PLANE_SETTINGS).flatMap(([name, setting]) => ('secret' in setting ? [name] : []))

  test.each([
    'VAULT_TOKEN',
    'VAULT_SECRET_ID',
    'DATABASE_URL',
    'ACCESS_TOKEN_SECRET',
    'ENCRYPTION_SECRET',
    'ACCESS_TOKEN_SECRET_PREVIOUS',
    'ENCRYPTION_SECRET_PREVIOUS',
    'ADMIN_PASSWORD',
    'SMTP_PASSWORD',
    'METRICS_TOKEN',
  ])('%s is never shown, and a file may hold it', (name) => {
    const value = name === 'DATABASE_URL' ? 'sqlite:/hidden/place' : 'hidden-value-of-a-secret'
    const beside = BESIDE[name]
    const { settingsInForce } = read({ ...beside, [name]: value })
    expect(settingsInForce.find((setting) => setting.name === name)).toMatchObject({
      value: '********',
      secret: true,
      given: true,
    })
    expect(JSON.stringify(settingsInForce)).not.toContain('hidden')
    if (name === 'DATABASE_URL') return
    const fromFile = read({ ...beside, [`${name}_FILE`]: '/run/secret' }).settingsInForce
    expect(fromFile.find((setting) => setting.name === name)).toMatchObject({ value: '********', given: true })
  })

  test('is in the table above, and a file for any other setting counts for nothing', () => {
    expect(names).toHaveLength(10)
    const { settingsInForce } = read({ LISTEN_HOST_FILE: '/run/secret' })
    const host = settingsInForce.find(({ name }) => name === 'LISTEN_HOST')
    expect(host).toMatchObject({ value: '127.0.0.1', given: false, secret: false })
  })
})

describe('choices', () => {
  test.each([
    ['LAUNCH_UNKNOWN_FIELDS', 'unknownFields', ['refuse', 'warn', 'ignore']],
    ['LOG_LEVEL', 'logLevel', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']],
    ['LOG_FORMAT', 'logFormat', ['text', 'json']],
  ] as const)('of %s are all taken', (name, key, values) => {
    expect(values.map((value) => read({ [name]: value })[key])).toEqual(values)
  })

  test.each(['starttls', 'tls', 'none'])('SMTP_TLS takes %s', (value) => {
    const { mail } = read({ SMTP_HOST: 'mail.example', MAIL_FROM: 'jobs@example.com', SMTP_TLS: value })
    expect(mail).toMatchObject({ tls: value })
  })
})

describe('PUBLIC_URL', () => {
  test.each([
    ['https://jobs.example.com', 'https://jobs.example.com'],
    ['http://jobs.example.com:8000/', 'http://jobs.example.com:8000'],
    ['https://jobs.example.com/holdfast//', 'https://jobs.example.com/holdfast'],
  ])('%s is %s', (text, url) => {
    expect(read({ PUBLIC_URL: text }).publicUrl).toBe(url)
  })

  test.each([
    'jobs.example.com',
    'ftp://jobs.example.com',
    'https://me@jobs.example.com',
    'https://jobs.example.com/?a=b',
    'https://jobs.example.com/#a',
  ])('%s is refused', (text) => {
    expect(() => read({ PUBLIC_URL: text })).toThrow(
      new SettingsError(`PUBLIC_URL: must be an address such as https://jobs.example.com, not ${JSON.stringify(text)}`),
    )
  })
})

describe('AUDIT_SYSLOG', () => {
  test.each([
    ['udp://log.example:1', { protocol: 'udp', host: 'log.example', port: 1 }],
    ['tcp://10.0.0.1:601/', { protocol: 'tcp', host: '10.0.0.1', port: 601 }],
    ['tls://[2001:db8::1]:65535', { protocol: 'tls', host: '2001:db8::1', port: 65_535 }],
  ])('%s is a place', (text, place) => {
    expect(read({ AUDIT_SYSLOG: text }).auditSyslog).toEqual(place)
  })

  test.each(['udp://log.example:0', 'udp://log.example:65536', 'udp://log.example', 'http://log.example:80', 'x'])(
    '%s is refused',
    (text) => {
      expect(() => read({ AUDIT_SYSLOG: text })).toThrow(/^AUDIT_SYSLOG: must be udp:\/\/host:port, .+, not "/)
    },
  )
})

test('secrets are long enough at 16 characters, and the first password of the admin at 12', () => {
  const secrets = [
    'ACCESS_TOKEN_SECRET',
    'ENCRYPTION_SECRET',
    'ACCESS_TOKEN_SECRET_PREVIOUS',
    'ENCRYPTION_SECRET_PREVIOUS',
  ]
  for (const name of secrets) {
    expect(() => read({ [name]: 'x'.repeat(16) })).not.toThrow()
    expect(() => read({ [name]: 'x'.repeat(15) })).toThrow(`${name}: must have at least 16 characters`)
  }
  expect(read({ ADMIN_PASSWORD: 'x'.repeat(12) }).admin.password).toBe('x'.repeat(12))
  expect(() => read({ ADMIN_PASSWORD: 'x'.repeat(11) })).toThrow('ADMIN_PASSWORD: must have at least 12 characters')
})

describe('a token that no header can carry is refused, and not shown:', () => {
  const NAMES = ['METRICS_TOKEN', 'VAULT_TOKEN', 'VAULT_NAMESPACE']
  const BROKEN = [' ', '\t', ' leading', 'trailing ', 'tökèn', 'a\u0000b', 'line\nbreak', 'a\u007fb', '\u{1f512}']
  test.each(NAMES.flatMap((name) => BROKEN.map((text) => [name, text] as const)))('%s=%j', (name, text) => {
    const vault = { VAULT_ADDR: 'https://vault.example', VAULT_TOKEN: 'right' }
    const given: Record<string, string> = name === 'METRICS_TOKEN' ? { [name]: text } : { ...vault, [name]: text }
    expect(() => read(given)).toThrow(`${name}: must be printable ASCII signs`)
  })
})

test.each([
  [{ JOB_RETENTION_DAYS: '2' }, { jobRetentionMs: 2 * 86_400_000, auditRetentionMs: null }],
  [{ AUDIT_RETENTION_DAYS: '3' }, { jobRetentionMs: null, auditRetentionMs: 3 * 86_400_000 }],
  [{ NOTIFICATION_RETENTION_DAYS: '0' }, { notificationRetentionMs: null }],
  [{ AUDIT_READS: '1' }, { auditReads: true }],
  [{ AUDIT_FILE: 'audit.jsonl' }, { auditFile: resolve('audit.jsonl') }],
  [{ LOG_LEVEL_FILE: 'level' }, { logLevelFile: resolve('level') }],
  [
    { TRUST_PROXY: 'yes', WEB: 'off' },
    { trustProxy: { hops: 1 }, web: false },
  ],
  [{ METRICS_TOKEN: 'a token~' }, { metricsToken: 'a token~' }],
  [{ FORM_SSH_CREDENTIAL: 'key' }, { formSsh: { credential: 'key' } }],
  [{ FORMS_LOCALE: 'de-DE' }, { formsLocale: 'de-DE' }],
  [{ DATABASE_URL: 'sqlite:data/x.db' }, { database: { kind: 'sqlite', path: resolve('data/x.db') } }],
])('%j is read', (environment, settings) => {
  expect(read(environment)).toMatchObject(settings)
})

test('networks that may be asked and those that may not are read for each of their users', () => {
  const settings = read({
    REST_ALLOWED_HOSTS: 'a.example',
    WEBHOOK_DENIED_HOSTS: 'b.example',
    FORM_SSH_HOSTS: 'c.example',
  })
  const { restAddresses, webhookAddresses, formSsh } = settings
  const empty = [restAddresses.allowed, restAddresses.denied, webhookAddresses.allowed, webhookAddresses.denied]
  expect(empty.map(({ isEmpty }) => isEmpty)).toEqual([false, true, true, false])
  expect(formSsh.hosts.isEmpty).toBe(false)
  expect(webhookAddresses.words).toEqual({
    allowed: 'WEBHOOK_ALLOWED_HOSTS',
    denied: 'WEBHOOK_DENIED_HOSTS',
    who: 'webhooks',
  })
})

test.each([
  ['FORMS_LOCALE', 'xx-XX', 'FORMS_LOCALE: "xx-XX" is no locale that this Node.js has'],
  ['FORMS_LOCALE', 'no locale', 'FORMS_LOCALE: "no locale" is no locale that this Node.js has'],
  ['BASE_URL', 'holdfast', 'BASE_URL: must be a path such as / or /holdfast, not "holdfast"'],
  ['DATABASE_URL', 'sqlite:', 'DATABASE_URL: must be sqlite:<file> or postgres://…'],
  ['HTTPS', '1', 'HTTPS_CERT: is needed when HTTPS is on'],
])('%s=%s is refused in words', (name, value, words) => {
  expect(() => read({ [name]: value })).toThrow(new SettingsError(words))
})

test.each([
  ['MASK_EXTRAVARS_REGEX', '(', /^MASK_EXTRAVARS_REGEX: Invalid regular expression/],
  ['WEBHOOK_ALLOWED_HOSTS', '10.0.0.0/99', /^WEBHOOK_ALLOWED_HOSTS: /],
])('%s=%s is refused with what is wrong with it', (name, value, words) => {
  expect(() => read({ [name]: value })).toThrow(words)
})
