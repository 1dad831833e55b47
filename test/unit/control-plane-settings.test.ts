import { SettingsError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { readSettings } from '../../control-plane/src/settings.js'
import { CONTROL_PLANE_SETTINGS } from '../../control-plane/src/settings-table.js'

const read = (environment: Record<string, string>) =>
  readSettings({ environment, flags: {}, readFile: () => 'from a file, long enough\n' }, false)

test('every setting whose name says that it is secret is one', () => {
  const named = (name: string) => /(TOKEN|SECRET|PASSWORD|SECRET_ID|_PREVIOUS)$/.test(name) || name === 'DATABASE_URL'
  for (const [name, setting] of Object.entries(CONTROL_PLANE_SETTINGS))
    expect([name, 'secret' in setting]).toEqual([name, named(name)])
  const { settingsInForce } = read({ ADMIN_PASSWORD: 'hidden password', METRICS_TOKEN_FILE: '/run/secret' })
  expect(JSON.stringify(settingsInForce)).not.toMatch(/hidden password|long enough/)
})

test.each([
  ['PUBLIC_URL', 'http://jobs.example.com:8000/', { publicUrl: 'http://jobs.example.com:8000' }],
  ['PUBLIC_URL', 'https://jobs.example.com/a//', { publicUrl: 'https://jobs.example.com/a' }],
  ['AUDIT_SYSLOG', 'tcp://10.0.0.1:601/', { auditSyslog: { protocol: 'tcp', host: '10.0.0.1', port: 601 } }],
  ['AUDIT_SYSLOG', 'tls://[::1]:65535', { auditSyslog: { protocol: 'tls', host: '::1', port: 65_535 } }],
  ['ACCESS_TOKEN_EXPIRATION', '7d', { accessTokenMs: 604_800_000 }],
  ['LAUNCH_VALIDATION', 'LOG', { launchValidation: 'log' }],
  ['LAUNCH_VALIDATION', 'whatever', { launchValidation: 'enforce' }],
  ['NOTIFICATION_RETENTION_DAYS', '0', { notificationRetentionMs: null }],
  ['TRUST_PROXY', 'yes', { trustProxy: { hops: 1 } }],
])('%s=%s is read', (name, value, settings) => {
  expect(read({ [name]: value })).toMatchObject(settings)
})

test.each([
  ['PORT', ['65536', 'http']],
  ['BASE_URL', ['holdfast', '/a?b']],
  ['PUBLIC_URL', ['jobs.example.com', 'ftp://a.example', 'https://me@a.example', 'https://a.example/?a=b']],
  ['HTTPS', ['maybe']],
  ['DATABASE_URL', ['mysql://x', 'sqlite:']],
  ['ACCESS_TOKEN_SECRET', ['short']],
  ['ENCRYPTION_SECRET_PREVIOUS', ['short']],
  ['ADMIN_PASSWORD', ['elevenchars']],
  ['ACCESS_TOKEN_EXPIRATION', ['0m', 'soon', '-1h']],
  ['JOBS_LIST_SIZE', ['9', '10001']],
  ['MASK_EXTRAVARS_REGEX', ['(']],
  ['WEBHOOK_ALLOWED_HOSTS', ['10.0.0.0/99']],
  ['FORMS_LOCALE', ['xx-XX', 'no locale']],
  ['AUDIT_SYSLOG', ['udp://a.example:0', 'udp://a.example', 'http://a.example:80', 'x']],
  ['METRICS_TOKEN', [' ', 'trailing ', 'tökèn', 'line\nbreak']],
  ['LOG_LEVEL', ['loud']],
  ['LOG_FORMAT', ['xml']],
] as const)('a wrong %s stops the start with one line that names it: %j', (name, values) => {
  for (const value of values) {
    const start = () => read({ [name]: value })
    expect(start).toThrow(SettingsError)
    expect(start).toThrow(new RegExp(`^${name}: [^\\n]+$`))
  }
})

test.each([
  'postgres://',
  'postgres://me:hunter2@:0:0/x',
  'postgres://me:hunter2@db',
  'postgres://me:hunter2@db/holdfast?sslmode=prefer',
])('the address %s of a database is refused without its password', (url) => {
  const secrets = { ACCESS_TOKEN_SECRET: 'sixteen letters!', ENCRYPTION_SECRET: 'sixteen others!!' }
  const start = () => read({ DATABASE_URL: url, ...secrets })
  expect(start).toThrow(/^DATABASE_URL: /)
  expect(start).not.toThrow('hunter2')
})

test.each<[string, Record<string, string>]>([
  ['HTTPS_KEY', { HTTPS: '1', HTTPS_CERT: '/c.pem' }],
  ['HTTPS_CERT', { HTTPS: '1', HTTPS_KEY: '/c.pem' }],
  ['ENCRYPTION_SECRET', { DATABASE_URL: 'postgres://db/x', ACCESS_TOKEN_SECRET: 'sixteen letters!' }],
  ['ACCESS_TOKEN_SECRET', { DATABASE_URL: 'postgres://db/x', ENCRYPTION_SECRET: 'sixteen letters!' }],
])('%s is needed with %j', (name, environment) => {
  expect(() => read(environment)).toThrow(new RegExp(`^${name}: is (needed|required)`))
})
