import { joinTokenOf, SettingsError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { readSettings, readStatePath, unknownSettings } from '../../../runner-agent/src/settings.js'

type Given = Readonly<Record<string, string>>
const APP = { APP_URL: 'https://forms.example.com' }
const FINGERPRINT = `SHA256:${'A'.repeat(42)}E`
const OTHER = `SHA256:${'B'.repeat(42)}E`
const DIALLED = { RTE_MODE: 'inbound', RTE_SERVICE_FINGERPRINT: FINGERPRINT }
const PROXY = { HTTPS_PROXY: 'http://proxy:1' }
const TOKEN = { RTE_JOIN_TOKEN: joinTokenOf('secret', OTHER) }
const PODMAN = { RTE_EXECUTION: 'podman' }
const USERS = { RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: 'job-1..2' }

/** What the agent of these settings has, beside the address of the control plane. */
const read = (more: Given) =>
  readSettings({ environment: { ...APP, ...more }, flags: {}, readFile: () => 'of-a-file\n' }, '/srv/runner')

test.each<[Given, object]>([
  [{ APP_URL: 'http://10.0.0.1:8000/jobs' }, { appUrl: new URL('http://10.0.0.1:8000/jobs') }],
  [DIALLED, { appUrl: null, serviceFingerprint: FINGERPRINT }],
  [{ ...DIALLED, RTE_INBOUND_HOST: '::1', RTE_INBOUND_PORT: '7' }, { inbound: { host: '::1', port: 7 } }],
  [{ RTE_MODE: 'inbound', ...TOKEN }, { serviceFingerprint: OTHER }],
  [{ ...TOKEN, RTE_SERVICE_FINGERPRINT: FINGERPRINT }, { serviceFingerprint: FINGERPRINT }],
  [{ RTE_JOIN_TOKEN: 'secret' }, { joinToken: 'secret', serviceFingerprint: null }],
  [{ RTE_JOIN_TOKEN_FILE: '/run/secrets/token' }, { joinToken: 'of-a-file' }],
  [PROXY, { proxy: new URL('http://proxy:1') }],
  [{ https_proxy: 'http://proxy:2' }, { proxy: new URL('http://proxy:2') }],
  [{ ...PROXY, https_proxy: 'http://proxy:2' }, { proxy: new URL('http://proxy:1') }],
  [{ ...PROXY, no_proxy: '.example.com' }, { proxy: null }],
  [{ ...PROXY, NO_PROXY: '.org', no_proxy: '*' }, { proxy: new URL('http://proxy:1') }],
  [{ ...PROXY, ...DIALLED }, { proxy: null }],
  [{ RTE_FILES: 'transfer', ANSIBLE_PATH: '/plays' }, { localFolder: null }],
  [{ RTE_FILES: 'local', ANSIBLE_PATH: 'plays' }, { localFolder: '/srv/runner/plays' }],
  [{ RTE_GALAXY: 'off', RTE_GALAXY_MINUTES: '1' }, { galaxySeconds: null }],
  [{ RTE_EXECUTION_IMAGE: 'team/ansible' }, { container: null }],
  [{ ...PODMAN, RTE_EXECUTION_OPTIONS: ' --a=1  --b ' }, { container: { image: null, options: ['--a=1', '--b'] } }],
  [{ ...USERS, RTE_ISOLATION: 'none' }, { isolation: null }],
  [{ ...USERS, RTE_ISOLATION_HOME: 'home' }, { isolation: { users: ['job-1', 'job-2'], home: '/srv/runner/home' } }],
])('with %j the settings of an agent hold %j', (given, expected) => {
  expect(read(given)).toMatchObject(expected)
})

test.each<[Given, string]>([
  [{ APP_URL: '' }, 'APP_URL'],
  [{ APP_URL: 'ftp://x' }, 'APP_URL'],
  [{ HTTPS_PROXY: 'socks5://x' }, 'HTTPS_PROXY'],
  // Anybody could dial it.
  [{ RTE_MODE: 'inbound' }, 'RTE_SERVICE_FINGERPRINT'],
  [{ RTE_MODE: 'inbound', RTE_JOIN_TOKEN: 'old' }, 'RTE_SERVICE_FINGERPRINT'],
  [{ RTE_SERVICE_FINGERPRINT: 'x' }, 'RTE_SERVICE_FINGERPRINT'],
  [{ RTE_NAME: 'a b' }, 'RTE_NAME'],
  [{ RTE_JOIN_TOKEN: 'x'.repeat(9999) }, 'RTE_JOIN_TOKEN'],
  [{ RTE_JOIN_TOKEN: 'two words' }, 'RTE_JOIN_TOKEN'],
  [{ RTE_FILES: 'local' }, 'ANSIBLE_PATH'],
  [{ RTE_GALAXY_MINUTES: '0' }, 'RTE_GALAXY_MINUTES'],
  [{ RTE_EXECUTION_IMAGE: '--rm' }, 'RTE_EXECUTION_IMAGE'],
  [{ ...PODMAN, ...USERS }, 'RTE_ISOLATION'],
  [{ ...PODMAN, RTE_GALAXY: 'on' }, 'RTE_GALAXY'],
  [{ RTE_ISOLATION: 'user' }, 'RTE_ISOLATION_USERS'],
  [{ PORT: '65536' }, 'PORT'],
])('with %j an agent does not start, because of %s', (given, name) => {
  expect(() => read(given)).toThrow(SettingsError)
  expect(() => read(given)).toThrow(`${name}: `)
})

test.each<[string, { name: string; meant: string | null }[]]>([
  ['RTE_MAXJOBS', [{ name: 'RTE_MAXJOBS', meant: 'RTE_MAX_JOBS' }]],
  ['RTE_COLOUR', [{ name: 'RTE_COLOUR', meant: null }]],
  ['APP_ENV', []],
  ['RTE_NAME_FILE', [{ name: 'RTE_NAME_FILE', meant: null }]],
  ['RTE_JOIN_TOKENFILE', [{ name: 'RTE_JOIN_TOKENFILE', meant: 'RTE_JOIN_TOKEN_FILE' }]],
  ['RTE_JOIN_TOKEN_FILE', []],
  ['https_proxy', []],
  ['PATH', []],
])('%s is a variable that is no setting: %j', (name, expected) => {
  expect(unknownSettings({ [name]: 'x' })).toEqual(expected)
})

test('the state folder is known without the other settings', () => {
  const environment = { RTE_STATE_PATH: '/state', PORT: 'x' }
  expect(readStatePath({ environment, flags: {}, readFile: () => '' }, '/srv')).toBe('/state')
})
