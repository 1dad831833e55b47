import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { SettingsError } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { networkOf } from '../../control-plane/src/auth/sessions/network.js'
import { createPrivateFile, keptSecret } from '../../control-plane/src/secrets/secrets.js'
import { readSettings } from '../../control-plane/src/settings.js'
import { CONTROL_PLANE_SETTINGS } from '../../control-plane/src/settings-table.js'

const read = (environment: Record<string, string> = {}, flags: Record<string, string> = {}) =>
  readSettings({ environment, flags, readFile: () => 'from a file, long enough\n' }, false)

describe('settings', () => {
  test('are shown to admins as they count, with what was given, and secrets only as given', () => {
    const environment = { WEB: 'no', HTTPS: '', ADMIN_PASSWORD: 'not for anybody to see', DATABASE_URL: '' }
    const { settingsInForce } = read(environment, { PORT: '8123' })
    const shown = Object.fromEntries(
      settingsInForce.map(({ name, value, given, secret }) => [name, { value, given, secret }]),
    )
    expect(shown).toMatchObject({
      WEB: { value: '0', given: true },
      HTTPS: { value: '0', given: false },
      PORT: { value: '8123', given: true },
      LISTEN_HOST: { value: '127.0.0.1', given: false },
      PUBLIC_URL: { value: null, given: false },
      ADMIN_PASSWORD: { given: true, secret: true },
    })
    expect(settingsInForce.find(({ name }) => name === 'TRUST_PROXY')?.value).toBe('0')
    expect(read({ TRUST_PROXY: '1' }).settingsInForce.find(({ name }) => name === 'TRUST_PROXY')?.value).toBe('1')
    expect(JSON.stringify(settingsInForce)).not.toContain('not for anybody')
  })

  test('have the documented defaults', () => {
    const { settingsInForce, restAddresses, webhookAddresses, ...settings } = read()
    const { allowed, denied } = webhookAddresses
    for (const rules of [restAddresses.allowed, restAddresses.denied, allowed, denied]) expect(rules.isEmpty).toBe(true)
    expect(settingsInForce.map(({ name }) => name)).toEqual(Object.keys(CONTROL_PLANE_SETTINGS))
    expect(settings).toEqual({
      port: 8000,
      listenHost: '127.0.0.1',
      baseUrl: '/',
      publicUrl: null,
      tls: null,
      trustProxy: null,
      web: true,
      persistentPath: resolve('persistent'),
      formsPath: resolve('persistent/forms'),
      configPath: resolve('persistent/config.yaml'),
      varsFilesPath: resolve('persistent/vars'),
      workflowsPath: resolve('persistent/workflows'),
      credentialsPath: resolve('persistent/credentials.yaml'),
      playbooksPath: resolve('persistent/playbooks'),
      uploadPath: resolve('persistent/uploads'),
      database: { kind: 'sqlite', path: resolve('persistent/holdfast.db') },
      accessTokenSecret: null,
      encryptionSecret: null,
      accessTokenMs: 30 * 60_000,
      refreshTokenMs: 24 * 3_600_000,
      accessTokenSecretPrevious: null,
      encryptionSecretPrevious: null,
      sessionMaxMs: 30 * 24 * 3_600_000,
      authRateLimit: 120,
      apiTokenMaxDays: 90,
      admin: { username: 'admin', password: null },
      launchValidation: 'enforce',
      unknownFields: 'refuse',
      formFilesPath: resolve('persistent/files'),
      formFunctionsPath: resolve('persistent/functions.js'),
      formSsh: {
        hosts: expect.objectContaining({ isEmpty: true }) as object,
        credential: null,
        knownHosts: resolve('persistent/known_hosts'),
      },
      sourceLimitMs: 20_000,
      hashicorpVault: null,
      formsLocale: null,
      jobsListSize: 1000,
      maskExtravars: /password|secret(?!ar)|token(?!i[sz][aei]|s?[_-]?count)/i,
      eventStreamsPerSession: 20,
      bodyLimitBytes: 2 * 1024 * 1024,
      uploadMaxBytes: 10 * 1024 ** 3,
      uploadQuotas: { ofUser: 100 * 1024 ** 3, ofAll: 0 },
      maxOutputBytes: 50 * 1024 * 1024,
      maxEventsBytes: 512 * 1024 * 1024,
      maxEvents: 2_000_000,
      jobRetentionMs: null,
      auditRetentionMs: null,
      mail: null,
      notificationRunnerLostMs: 120_000,
      notificationRetentionMs: 30 * 24 * 3_600_000,
      auditReads: false,
      auditFile: null,
      auditSyslog: null,
      metricsToken: null,
      runnerQueueMs: 3_600_000,
      runnerFilesMaxBytes: 512 * 1024 * 1024,
      runnerLostMs: 120_000,
      runnerHeartbeatMs: 20_000,
      logLevel: 'info',
      logLevelFile: null,
      logFormat: 'json',
    })
  })

  test('flags win over the environment, paths follow the persistent folder', () => {
    const settings = read({ PORT: '9000', PERSISTENT_PATH: '/data', FORMS_FOLDER_PATH: '/forms' }, { PORT: '9001' })
    expect(settings).toMatchObject({
      port: 9001,
      formsPath: '/forms',
      configPath: '/data/config.yaml',
      credentialsPath: '/data/credentials.yaml',
      database: { kind: 'sqlite', path: '/data/holdfast.db' },
    })
  })

  test('secrets may be in a file', () => {
    expect(read({ ACCESS_TOKEN_SECRET_FILE: '/run/secret' }).accessTokenSecret).toBe('from a file, long enough')
    expect(read({ ENCRYPTION_SECRET_FILE: '/run/secret' }).encryptionSecret).toBe('from a file, long enough')
  })

  test('the log is text on a terminal unless a setting changes it', () => {
    const sources = { environment: {}, flags: {}, readFile: () => '' }
    expect(readSettings(sources, true).logFormat).toBe('text')
    expect(readSettings({ ...sources, environment: { LOG_FORMAT: 'json' } }, true).logFormat).toBe('json')
  })

  test('TLS needs both files', () => {
    expect(read({ HTTPS: '1', HTTPS_CERT: '/c.pem', HTTPS_KEY: '/k.pem' }).tls).toEqual({
      certPath: '/c.pem',
      keyPath: '/k.pem',
    })
    expect(() => read({ HTTPS: '1', HTTPS_CERT: '/c.pem' })).toThrow('HTTPS_KEY: is needed when HTTPS is on')
  })

  test.each([
    ['off', 'off'],
    ['LOG', 'log'],
    ['enforce', 'enforce'],
    ['whatever', 'enforce'],
  ])('LAUNCH_VALIDATION %s means %s', (text, expected) => {
    expect(read({ LAUNCH_VALIDATION: text }).launchValidation).toBe(expected)
  })

  test.each([
    ['30m', 1_800_000],
    ['24h', 86_400_000],
    ['90s', 90_000],
    ['7d', 604_800_000],
    ['3600', 3_600_000],
  ])('a time of %s', (text, ms) => {
    expect(read({ ACCESS_TOKEN_EXPIRATION: text }).accessTokenMs).toBe(ms)
  })

  test.each([
    ['PORT', '65536'],
    ['PORT', 'http'],
    ['BASE_URL', 'holdfast'],
    ['BASE_URL', '/a?b'],
    ['HTTPS', 'maybe'],
    ['DATABASE_URL', 'mysql://x'],
    ['DATABASE_URL', 'sqlite:'],
    ['ACCESS_TOKEN_SECRET', 'short'],
    ['ENCRYPTION_SECRET', 'short'],
    ['ADMIN_PASSWORD', 'elevenchars'],
    ['ACCESS_TOKEN_EXPIRATION', '0m'],
    ['ACCESS_TOKEN_EXPIRATION', 'soon'],
    ['ACCESS_TOKEN_REFRESH_EXPIRATION', '-1h'],
    ['JOBS_LIST_SIZE', '9'],
    ['JOBS_LIST_SIZE', '10001'],
    ['MASK_EXTRAVARS_REGEX', '('],
    ['LOG_LEVEL', 'loud'],
    ['LOG_FORMAT', 'xml'],
  ])('%s=%s stops the start with one line that names it', (name, value) => {
    const start = () => read({ [name]: value })
    expect(start).toThrow(SettingsError)
    expect(start).toThrow(new RegExp(`^${name}: [^\\n]+$`))
  })

  describe('PostgreSQL', () => {
    const url = 'postgres://me:hunter2@db/holdfast'
    const secrets = { ACCESS_TOKEN_SECRET: 'sixteen letters!', ENCRYPTION_SECRET: 'sixteen others!!' }

    test('needs the two secrets that all nodes share', () => {
      expect(read({ DATABASE_URL: url, ...secrets }).database).toEqual({ kind: 'postgres', url })
      for (const name of Object.keys(secrets)) {
        const start = () => read({ DATABASE_URL: url, ...secrets, [name]: undefined })
        expect(start).toThrow(`${name}: is required with PostgreSQL, and must be the same at every node`)
      }
    })

    test.each([
      ['postgres://', 'must name the database'],
      ['postgres://me:hunter2@:0:0/x', 'such as postgres://user:password@host:5432/database'],
      ['postgres://me:hunter2@db', 'must name the database'],
      [`${url}?sslmode=prefer`, 'sslmode must be one of disable, no-verify, require, verify-ca, verify-full'],
    ])('%s is refused without the password', (wrong, why) => {
      const start = () => read({ DATABASE_URL: wrong, ...secrets })
      expect(start).toThrow(`DATABASE_URL: `)
      expect(start).toThrow(why)
      expect(start).not.toThrow('hunter2')
    })
  })

  test('cannot be changed, and each has a meaning', () => {
    const settings = read()
    expect(Object.isFrozen(settings)).toBe(true)
    for (const [name, { meaning }] of Object.entries(CONTROL_PLANE_SETTINGS))
      expect([name, meaning.length > 10]).toEqual([name, true])
  })
})

describe('kept secrets', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdfast-secrets-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  test('are made once, also by many at the same moment, and only their owner reads them', async () => {
    const given = await Promise.all(Array.from({ length: 20 }, () => keptSecret(join(folder, 'deep'), 'key')))
    expect(new Set(given).size).toBe(1)
    expect(given[0]).toMatch(/^[A-Za-z0-9_-]{64}$/)
    expect(await keptSecret(join(folder, 'deep'), 'key')).toBe(given[0])
    expect((await stat(join(folder, 'deep', 'key'))).mode & 0o777).toBe(0o600)
    expect(await readdir(join(folder, 'deep'))).toEqual(['key'])
  })

  test('an empty file does not count as a secret', async () => {
    await writeFile(join(folder, 'empty'), '')
    await expect(keptSecret(folder, 'empty')).rejects.toThrow('is empty')
  })

  test('a private file is never overwritten', async () => {
    const path = join(folder, 'file')
    expect(await createPrivateFile(path, 'one')).toBe(true)
    expect(await createPrivateFile(path, 'two')).toBe(false)
    expect(await readFile(path, 'utf8')).toBe('one')
  })
})

test.each([
  ['10.1.2.3', '10.1.2.3'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['not an address', 'not an address'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
