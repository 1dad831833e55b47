import { hostname } from 'node:os'
import { SettingsError, joinTokenOf } from '@holdfast/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readSettings, readStatePath, unknownSettings } from '../../../runner-agent/src/settings.js'

type Given = Readonly<Record<string, string>>
const APP = { APP_URL: 'https://forms.example.com' }
const FINGERPRINT = `SHA256:${'A'.repeat(42)}E`
const OTHER = `SHA256:${'B'.repeat(42)}E`
const INBOUND = { RTE_MODE: 'inbound', RTE_SERVICE_FINGERPRINT: FINGERPRINT }

const read = (environment: Given, flags: Given = {}) =>
  readSettings({ environment, flags, readFile: () => 'a-token-of-a-file\n' }, '/srv/runner')
/** What the agent of these settings has, beside the address of the control plane. */
const withMore = (more: Given) => read({ ...APP, ...more })

describe('the settings of an agent', () => {
  test('need nothing but the address of the control plane', () => {
    expect(withMore({ LOG_FORMAT: 'text', RTE_NAME: 'edge' })).toEqual({
      appUrl: new URL('https://forms.example.com'),
      inbound: { host: '0.0.0.0', port: 8002 },
      proxy: null,
      tlsVerify: true,
      name: 'edge',
      joinToken: null,
      serviceFingerprint: null,
      statePath: '/srv/runner/rte-state',
      maxJobs: 10,
      drainSeconds: 25,
      onStop: 'detach',
      localFolder: null,
      passEnvironment: [],
      python: null,
      galaxySeconds: null,
      container: null,
      isolation: null,
      cacheBytes: 1024 ** 3,
      spoolMaxBytes: 2 * 1024 ** 3,
      port: 8001,
      listenHost: '127.0.0.1',
      logLevel: 'info',
      logFormat: 'text',
    })
    expect(withMore({}).name).toBe(hostname().replace(/[^A-Za-z0-9._-]/g, '-'))
    expect(Object.isFrozen(withMore({}))).toBe(true)
  })

  test.each<[Given, object]>([
    [{ RTE_MODE: 'outbound' }, { appUrl: new URL(APP.APP_URL) }],
    [{ APP_URL: 'http://10.0.0.1:8000/jobs' }, { appUrl: new URL('http://10.0.0.1:8000/jobs') }],
    [INBOUND, { appUrl: null, serviceFingerprint: FINGERPRINT }],
    [
      { ...INBOUND, RTE_INBOUND_HOST: '::1', RTE_INBOUND_PORT: '65535' },
      { inbound: { host: '::1', port: 65_535 }, proxy: null },
    ],
    [{ RTE_MODE: 'inbound', RTE_JOIN_TOKEN: joinTokenOf('secret', OTHER) }, { serviceFingerprint: OTHER }],
    [
      { RTE_JOIN_TOKEN: joinTokenOf('secret', OTHER), RTE_SERVICE_FINGERPRINT: FINGERPRINT },
      { serviceFingerprint: FINGERPRINT },
    ],
    [{ RTE_JOIN_TOKEN: 'secret' }, { joinToken: 'secret', serviceFingerprint: null }],
    [{ RTE_JOIN_TOKEN: 'x'.repeat(200) }, { joinToken: 'x'.repeat(200) }],
    [{ RTE_JOIN_TOKEN_FILE: '/run/secrets/token' }, { joinToken: 'a-token-of-a-file' }],
    [{ APP_TLS_VERIFY: '0' }, { tlsVerify: false }],
    [{ HTTPS_PROXY: 'http://proxy:3128' }, { proxy: new URL('http://proxy:3128') }],
    [{ HTTPS_PROXY: 'https://proxy' }, { proxy: new URL('https://proxy') }],
    [{ https_proxy: 'http://proxy:3128' }, { proxy: new URL('http://proxy:3128') }],
    [{ HTTPS_PROXY: 'http://proxy:1', https_proxy: 'http://proxy:2' }, { proxy: new URL('http://proxy:1') }],
    [{ HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: '.example.com' }, { proxy: null }],
    [{ HTTPS_PROXY: 'http://proxy:3128', no_proxy: '.example.com' }, { proxy: null }],
    [{ HTTPS_PROXY: 'http://proxy:1', NO_PROXY: '.org', no_proxy: '*' }, { proxy: new URL('http://proxy:1') }],
    [{ ...INBOUND, HTTPS_PROXY: 'http://proxy:3128' }, { proxy: null }],
    [{ RTE_STATE_PATH: '/var/lib/state' }, { statePath: '/var/lib/state' }],
    [{ RTE_MAX_JOBS: '0' }, { maxJobs: 0 }],
    [{ RTE_DRAIN_SECONDS: '7' }, { drainSeconds: 7 }],
    [{ RTE_ON_STOP: 'detach' }, { onStop: 'detach' }],
    [{ RTE_ON_STOP: 'terminate' }, { onStop: 'terminate' }],
    [{ RTE_FILES: 'transfer', ANSIBLE_PATH: '/plays' }, { localFolder: null }],
    [{ RTE_FILES: 'local', ANSIBLE_PATH: '/plays' }, { localFolder: '/plays' }],
    [{ RTE_FILES: 'local', ANSIBLE_PATH: 'plays' }, { localFolder: '/srv/runner/plays' }],
    [{ RTE_PASS_ENVIRONMENT: 'AWS_*,KUBECONFIG' }, { passEnvironment: ['AWS_*', 'KUBECONFIG'] }],
    [{ RTE_PYTHON: '/usr/bin/python3' }, { python: '/usr/bin/python3' }],
    [{ RTE_GALAXY: 'on' }, { galaxySeconds: 600 }],
    [{ RTE_GALAXY: 'on', RTE_GALAXY_MINUTES: '1' }, { galaxySeconds: 60 }],
    [{ RTE_GALAXY: 'off', RTE_GALAXY_MINUTES: '1' }, { galaxySeconds: null }],
    [{ RTE_EXECUTION: 'host', RTE_EXECUTION_IMAGE: 'team/ansible' }, { container: null }],
    [{ RTE_EXECUTION: 'podman' }, { container: { image: null, options: [] } }],
    [
      { RTE_EXECUTION: 'podman', RTE_EXECUTION_IMAGE: 'team/ansible:1', RTE_EXECUTION_OPTIONS: ' --a=1  --b ' },
      { container: { image: 'team/ansible:1', options: ['--a=1', '--b'] } },
    ],
    [{ RTE_ISOLATION: 'none', RTE_ISOLATION_USERS: 'job-1..2' }, { isolation: null }],
    [
      { RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: 'job-1..2' },
      { isolation: { users: ['job-1', 'job-2'], sudo: false, home: null } },
    ],
    [
      { RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: 'job', RTE_ISOLATION_SUDO: '1', RTE_ISOLATION_HOME: 'home' },
      { isolation: { users: ['job'], sudo: true, home: '/srv/runner/home' } },
    ],
    [{ RTE_CACHE_MB: '1' }, { cacheBytes: 1_048_576 }],
    [{ RTE_SPOOL_MAX_MB: '3' }, { spoolMaxBytes: 3_145_728 }],
    [
      { PORT: '65535', LISTEN_HOST: '0.0.0.0' },
      { port: 65_535, listenHost: '0.0.0.0' },
    ],
    ...['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((logLevel): [Given, object] => [
      { LOG_LEVEL: logLevel },
      { logLevel },
    ]),
    [{ LOG_FORMAT: 'text' }, { logFormat: 'text' }],
    [{ LOG_FORMAT: 'json' }, { logFormat: 'json' }],
  ])('with %j hold %j', (given, expected) => {
    expect(withMore(given)).toMatchObject(expected)
  })

  test.each([
    [true, 'text'],
    [false, 'json'],
  ])('the form of the log follows the output: a terminal %s', (isTerminal, logFormat) => {
    const before = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY')
    Object.defineProperty(process.stdout, 'isTTY', { value: isTerminal, configurable: true })
    onTestFinished(() => {
      if (before === undefined) Reflect.deleteProperty(process.stdout, 'isTTY')
      else Object.defineProperty(process.stdout, 'isTTY', before)
    })
    expect(withMore({}).logFormat).toBe(logFormat)
  })

  test('the command line wins over the environment', () => {
    expect(read({ ...APP, RTE_NAME: 'one' }, { RTE_NAME: 'two' }).name).toBe('two')
  })
})

describe('an agent does not start', () => {
  test.each<[string, Given, string]>([
    ['without an address to dial', { APP_URL: '' }, 'APP_URL: is required: the address of the control plane'],
    ['with another kind of address', { APP_URL: 'ftp://x' }, 'APP_URL: must be an http:// or https:// address'],
    ['with what is no address', { APP_URL: 'forms' }, 'APP_URL: must be an http:// or https:// address'],
    [
      'with another kind of proxy',
      { HTTPS_PROXY: 'socks5://x' },
      'HTTPS_PROXY: must be an http:// or https:// address',
    ],
    [
      'when anybody could dial it',
      { RTE_MODE: 'inbound' },
      'RTE_SERVICE_FINGERPRINT: is required with RTE_MODE=inbound',
    ],
    [
      'when anybody could dial it, as its token names nobody',
      { RTE_MODE: 'inbound', RTE_JOIN_TOKEN: 'old' },
      'RTE_SERVICE_FINGERPRINT: is required with RTE_MODE=inbound',
    ],
    ['with what is no fingerprint', { RTE_SERVICE_FINGERPRINT: 'x' }, 'RTE_SERVICE_FINGERPRINT: '],
    ['with a name that forms cannot use', { RTE_NAME: 'a b' }, 'RTE_NAME: must be 1 to 63 letters'],
    ['with a token that is too long', { RTE_JOIN_TOKEN: 'x'.repeat(201) }, 'RTE_JOIN_TOKEN: is longer than'],
    ['with a token that is two words', { RTE_JOIN_TOKEN: 'two words' }, 'RTE_JOIN_TOKEN: is no join token'],
    ['with a token that ends with a blank', { RTE_JOIN_TOKEN: 'word ' }, 'RTE_JOIN_TOKEN: is no join token'],
    ['with an unknown mode', { RTE_MODE: 'both' }, 'RTE_MODE: must be one of outbound, inbound, not "both"'],
    ['with an unknown way to stop', { RTE_ON_STOP: 'kill' }, 'RTE_ON_STOP: must be one of detach, terminate'],
    ['with an unknown kind of files', { RTE_FILES: 'git' }, 'RTE_FILES: must be one of transfer, local'],
    ['with local files and no folder', { RTE_FILES: 'local' }, 'ANSIBLE_PATH: is required with RTE_FILES=local'],
    ['with a switch of another word', { RTE_GALAXY: 'yes' }, 'RTE_GALAXY: must be one of off, on'],
    ['with no time to install', { RTE_GALAXY_MINUTES: '0' }, 'RTE_GALAXY_MINUTES: must be 1 or more'],
    ['with an unknown place of jobs', { RTE_EXECUTION: 'docker' }, 'RTE_EXECUTION: must be one of host, podman'],
    ['with an option for an image', { RTE_EXECUTION_IMAGE: '--rm' }, 'RTE_EXECUTION_IMAGE: is no name'],
    [
      'with users in containers',
      { RTE_EXECUTION: 'podman', RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: 'job' },
      'RTE_ISOLATION: must be none with RTE_EXECUTION=podman',
    ],
    [
      'with requirements for containers',
      { RTE_EXECUTION: 'podman', RTE_GALAXY: 'on' },
      'RTE_GALAXY: must be off with RTE_EXECUTION=podman',
    ],
    ['with an unknown isolation', { RTE_ISOLATION: 'vm' }, 'RTE_ISOLATION: must be one of none, user'],
    [
      'with isolation and no users',
      { RTE_ISOLATION: 'user' },
      'RTE_ISOLATION_USERS: is required with RTE_ISOLATION=user',
    ],
    ['with a port that is too high', { PORT: '65536' }, 'PORT: must be a whole number from 0 to 65535'],
    ['with such a port to dial', { RTE_INBOUND_PORT: '65536' }, 'RTE_INBOUND_PORT: must be a whole number from 0 to'],
    ['with an unknown log level', { LOG_LEVEL: 'loud' }, 'LOG_LEVEL: must be one of fatal, error, warn, info, debug,'],
    ['with an unknown form of the log', { LOG_FORMAT: 'xml' }, 'LOG_FORMAT: must be one of text, json'],
  ])('%s', (_name, given, words) => {
    const start = () => withMore(given)
    expect(start).toThrow(SettingsError)
    expect(start).toThrow(words)
  })
})

describe('a variable that is no setting', () => {
  test.each<[string, { name: string; meant: string | null }[]]>([
    ['RTE_MAXJOBS', [{ name: 'RTE_MAXJOBS', meant: 'RTE_MAX_JOBS' }]],
    ['RTE_COLOUR', [{ name: 'RTE_COLOUR', meant: null }]],
    ['APP_TLSVERIFY', [{ name: 'APP_TLSVERIFY', meant: 'APP_TLS_VERIFY' }]],
    ['APP_ENV', []],
    ['RTE_NAME_FILE', [{ name: 'RTE_NAME_FILE', meant: null }]],
    ['RTE_JOIN_TOKENFILE', [{ name: 'RTE_JOIN_TOKENFILE', meant: 'RTE_JOIN_TOKEN_FILE' }]],
    ['RTE_JOIN_TOKEN_FILE', []],
    ['RTE_JOIN_TOKEN', []],
    ['https_proxy', []],
    ['PATH', []],
  ])('%s: %j', (name, expected) => {
    expect(unknownSettings({ [name]: 'x' })).toEqual(expected)
  })
})

test('the state folder is known without the other settings', () => {
  const sources = { flags: {}, readFile: () => '' }
  expect(readStatePath({ ...sources, environment: {} }, '/srv')).toBe('/srv/rte-state')
  expect(readStatePath({ ...sources, environment: { RTE_STATE_PATH: '/state', PORT: 'x' } }, '/srv')).toBe('/state')
})
