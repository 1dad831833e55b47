import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createWebServer } from 'node:http'
import { createServer as createTlsWebServer } from 'node:https'
import { type AddressInfo, type Server, createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { checkCertificate } from '../../../control-plane/src/check/certificate.js'
import { checkContent, readConfig } from '../../../control-plane/src/check/content.js'
import { checkDatabase } from '../../../control-plane/src/check/database.js'
import { checkFolders, diskFinding } from '../../../control-plane/src/check/folders.js'
import { checkPort } from '../../../control-plane/src/check/port.js'
import { checkSignIn } from '../../../control-plane/src/check/sign-in.js'
import { openStore } from '../../../control-plane/src/store/open-store.js'
import { TEST_CERTIFICATE } from '../../support/test-certificate.js'

const MIB = 1024 * 1024
const DAY = 24 * 60 * 60 * 1000

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-findings-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

function put(name: string, content: string, mode = 0o600): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

/** The port of a server that listens until the end of the test. */
async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

test.each([
  [0, 'problem', 'full'],
  [1, 'warning', '0 MiB free'],
  [1024 * MIB - 1, 'warning', '1023 MiB free'],
  [1024 * MIB, 'ok', '1024 MiB free'],
])('a disk with %i free bytes is a %s', (bytes, state, words) => {
  const advice = state === 'ok' ? null : 'make room below /data'
  expect(diskFinding('/data', bytes)).toEqual({ subject: 'disk', state, words, advice })
})

describe('the folders', () => {
  const places = () => ({
    persistentPath: join(folder, 'data'),
    formsPath: join(folder, 'data/forms'),
    playbooksPath: join(folder, 'data/playbooks'),
  })
  const found = async () =>
    (await checkFolders(places()))
      .filter(({ subject }) => subject !== 'disk')
      .map(({ subject, state, words }) => `${subject} ${state}: ${words.replaceAll(folder, '')}`)

  test('are made at the first start', async () => {
    expect(await found()).toEqual([
      'data folder ok: /data is made at the first start',
      'forms folder ok: /data/forms is made at the first start',
      'playbook folder ok: /data/playbooks is made at the first start',
    ])
    expect(existsSync(join(folder, 'data'))).toBe(false)
  })

  test('are good when they are private', async () => {
    for (const name of ['data', 'data/forms', 'data/playbooks']) mkdirSync(join(folder, name), { mode: 0o700 })
    expect(await found()).toEqual([
      'data folder ok: /data',
      'forms folder ok: /data/forms',
      'playbook folder ok: /data/playbooks',
    ])
    expect((await checkFolders(places())).map(({ subject }) => subject)).toContain('disk')
  })

  test.each(['encryption-secret', 'access-token-secret'])(
    'are no place for a file %s that others may read',
    async (name) => {
      mkdirSync(join(folder, 'data'), { mode: 0o700 })
      put(`data/${name}`, 'secret')
      expect((await found()).filter((text) => text.startsWith('secrets'))).toEqual([])
      for (const mode of [0o604, 0o640, 0o601]) {
        chmodSync(join(folder, 'data', name), mode)
        expect(await found()).toContain(`secrets warning: other users may read /data/${name}`)
      }
    },
  )

  test.each([0o701, 0o710, 0o750])('are too open with the mode %i', async (mode) => {
    mkdirSync(join(folder, 'data'))
    chmodSync(join(folder, 'data'), mode)
    expect((await found())[0]).toBe('data folder warning: other users can look into /data, where secrets are')
  })

  test('are no files', async () => {
    put('data', 'a file', 0o600)
    const [first, ...others] = await checkFolders(places())
    expect([first, others]).toMatchObject([
      { subject: 'data folder', state: 'problem', words: expect.stringContaining('EACCES') as string },
      [],
    ])
    rmSync(join(folder, 'data'))
    mkdirSync(join(folder, 'data'), { mode: 0o700 })
    put('data/forms', 'a file', 0o600)
    expect(await found()).toContainEqual(expect.stringMatching(/^forms folder problem: EACCES/))
  })

  test('cannot be made below a file', async () => {
    put('data', 'a file')
    const [first, ...others] = await checkFolders({ ...places(), persistentPath: join(folder, 'data/below') })
    expect([first, others]).toMatchObject([{ subject: 'data folder', state: 'problem' }, []])
    const nowhere = join(folder, 'no/such/place')
    const [missing] = await checkFolders({ ...places(), persistentPath: nowhere })
    expect(missing).toMatchObject({
      state: 'problem',
      words: expect.stringContaining('is not there and cannot be made') as string,
      advice: `make it: install -d -m 0700 -o ${userInfo().username} ${nowhere}`,
    })
  })
})

describe('the certificate', () => {
  const VALID_TO = Date.parse('2120-01-01T00:00:00Z')
  const VALID_FROM = Date.parse('2020-01-01T00:00:00Z')
  const plain = { tls: null, listenHost: '127.0.0.1', trustProxy: null, publicUrl: null }
  const withFiles = (publicUrl: string | null = null) => ({
    ...plain,
    publicUrl,
    tls: { certPath: put('cert.pem', TEST_CERTIFICATE.cert), keyPath: put('key.pem', TEST_CERTIFICATE.key) },
  })

  test.each([
    ['127.0.0.1', false, 'ok'],
    ['127.9.9.9', false, 'ok'],
    ['::1', false, 'ok'],
    ['localhost', false, 'ok'],
    ['0.0.0.0', true, 'ok'],
    ['0.0.0.0', false, 'warning'],
    ['::', false, 'warning'],
    ['::1:2', false, 'warning'],
  ])('may be missing at %s (behind a proxy: %s): %s', async (listenHost, trustProxy, state) => {
    expect(
      await checkCertificate({ ...plain, listenHost, trustProxy: trustProxy ? { hops: 1 } : null }, 0),
    ).toMatchObject([{ state }])
  })

  test.each([
    [VALID_FROM - 1, 'problem', /^not valid before /],
    [VALID_FROM, 'ok', /^valid until /],
    [VALID_TO - 21 * DAY, 'ok', /^valid until /],
    [VALID_TO - 21 * DAY + 1, 'warning', /^valid for 20 more days$/],
    [VALID_TO, 'warning', /^valid for 0 more days$/],
    [VALID_TO + 1, 'problem', /^not valid any more since /],
  ])('at the time %i is a %s', async (now, state, words) => {
    const [finding] = await checkCertificate(withFiles(), now)
    expect(finding).toMatchObject({ state, words: expect.stringMatching(words) as string })
  })

  test.each([
    ['https://localhost:8000', 'ok'],
    ['https://127.0.0.1', 'ok'],
    ['https://jobs.example.com', 'problem'],
    ['https://127.0.0.2', 'problem'],
    ['https://[::1]', 'problem'],
  ])('for %s is a %s', async (publicUrl, state) => {
    expect(await checkCertificate(withFiles(publicUrl), VALID_FROM)).toMatchObject([{ state }])
  })

  test('that cannot be read is a problem', async () => {
    const tls = { certPath: join(folder, 'nowhere'), keyPath: join(folder, 'nowhere') }
    expect(await checkCertificate({ ...plain, tls }, 0)).toMatchObject([
      { state: 'problem', words: expect.stringContaining('HTTPS_CERT: cannot read') as string },
    ])
  })
})

describe('the port', () => {
  const plain = { listenHost: '127.0.0.1', tls: null, baseUrl: '/' }
  const stateAt = async (port: number, more: object = {}) => {
    const [finding] = await checkPort({ ...plain, port, ...more })
    return `${finding?.state}: ${finding?.words}`
  }

  test('is free, and is free again afterwards', async () => {
    const server = createServer()
    const port = await listening(server)
    await new Promise((resolve) => server.close(resolve))
    for (let look = 0; look < 2; look += 1) expect(await stateAt(port)).toBe(`ok: 127.0.0.1:${port} is free`)
  })

  test.each([
    ['/', '/api/v2/live'],
    ['/base', '/base/api/v2/live'],
    ['/base/', '/base/api/v2/live'],
  ])('with the prefix %s belongs to a control plane that answers at %s', async (baseUrl, path) => {
    const port = await listening(
      createWebServer((request, response) => {
        response.writeHead(request.url === path ? 200 : 404).end('{}')
      }),
    )
    expect(await stateAt(port, { baseUrl })).toBe(`ok: a control plane answers at 127.0.0.1:${port}`)
    expect(await stateAt(port, { baseUrl: '/other' })).toBe(`problem: 127.0.0.1:${port} is taken by another program`)
  })

  test('belongs to a control plane with TLS whatever its certificate is', async () => {
    const port = await listening(createTlsWebServer(TEST_CERTIFICATE, (_, response) => response.end('{}')))
    const tls = { certPath: '', keyPath: '' }
    expect(await stateAt(port, { tls })).toBe(`ok: a control plane answers at 127.0.0.1:${port}`)
    expect(await stateAt(port)).toBe(`problem: 127.0.0.1:${port} is taken by another program`)
  })

  test('is taken by a program that says nothing of itself', async () => {
    const port = await listening(createServer((socket) => socket.end('hello\n')))
    expect(await stateAt(port)).toBe(`problem: 127.0.0.1:${port} is taken by another program`)
  })

  test('is at an address of this host', async () => {
    const [finding] = await checkPort({ ...plain, listenHost: '192.0.2.1', port: 0 })
    expect(finding).toMatchObject({ state: 'problem', advice: expect.stringContaining('LISTEN_HOST') as string })
  })
})

describe('the database', () => {
  test('is made at the first start, and has then the tables of this release', async () => {
    const place = { kind: 'sqlite', path: join(folder, 'a.db') } as const
    const settings = { persistentPath: folder, database: place, encryptionSecret: null, encryptionSecretPrevious: null }
    const words = async () => (await checkDatabase(settings)).map((finding) => `${finding.state}: ${finding.words}`)
    expect(await words()).toEqual([`ok: SQLite, ${place.path}: made at the first start`])
    expect(existsSync(place.path)).toBe(false)
    put('a.db', '')
    expect(await words()).toEqual([`ok: SQLite, ${place.path}: empty, its tables are made at the first start`])
    await (await openStore(place)).close()
    expect(await words()).toEqual([`ok: SQLite, ${place.path}: tables of this release`])
    put('a.db', 'no database at all, but some text of this length'.repeat(100))
    expect(await checkDatabase(settings)).toMatchObject([
      { state: 'problem', advice: 'is the file whole? docs/backup.md tells how to restore' },
    ])
  })
})

describe('the content', () => {
  const paths = () => ({ configPath: join(folder, 'config.yaml'), formsPath: join(folder, 'forms') })
  const found = async () =>
    (await checkContent(paths())).map(({ state, words }) => `${state}: ${words.replaceAll(folder, '')}`)

  test('may be missing', async () => {
    expect(await found()).toEqual(['ok: /config.yaml is made at the first start', 'ok: none yet'])
    expect(await readConfig(paths().configPath)).toBeNull()
  })

  test('is counted, and its mistakes are named', async () => {
    put('config.yaml', 'roles:\n  - {name: admin, groups: [local/admins]}\n')
    mkdirSync(join(folder, 'forms'))
    put('forms/a.yml', 'name: A\ntype: ansible\nplaybook: a.yml\nroles: [public]\nfields: []\n')
    expect(await found()).toEqual([expect.stringMatching(/^ok: \d roles in \/config.yaml$/), 'ok: 1 in /forms'])
    put('config.yaml', 'roles: [\n')
    put('forms/b.yml', 'name: B\n')
    expect(await found()).toEqual([
      expect.stringMatching(/^problem: \/config.yaml, line \d: /),
      'warning: good: 1, wrong: 1',
    ])
  })
})

describe('the sign-in', () => {
  const ROLES = 'roles:\n  - {name: admin, groups: [local/admins]}\n'
  const found = async (providers: string) =>
    (await checkSignIn(put('config.yaml', ROLES + providers))).map(
      ({ subject, state, words }) => `${subject} ${state}: ${words}`,
    )
  const ldap = (url: string, tls: string) => `ldap: {url: '${url}', tls: {${tls}}, searchBase: 'dc=example,dc=org'}\n`
  const oidc = (issuer: string) => `oidc: {issuer: '${issuer}', clientId: holdfast}\n`

  test('has nobody to reach without providers', async () => {
    expect(await found('')).toEqual([])
    expect(await checkSignIn(join(folder, 'nowhere'))).toEqual([])
  })

  test('reaches a provider that names itself as it is written', async () => {
    let [body, status] = ['null', 200]
    const port = await listening(
      createWebServer((request, response) => {
        const isThere = request.url === '/realm/.well-known/openid-configuration'
        response.writeHead(isThere ? status : 404).end(body)
      }),
    )
    const own = `http://127.0.0.1:${port}/realm`
    const words = async (issuer = own) => (await found(oidc(issuer))).map((text) => text.replaceAll(own, ''))
    const path = '/.well-known/openid-configuration'
    expect(await words()).toEqual([`sign-in by oidc problem: ${path} names another issuer: null`])
    body = JSON.stringify({ issuer: 'https://other.example' })
    expect(await words()).toEqual([`sign-in by oidc problem: ${path} names another issuer: https://other.example`])
    body = JSON.stringify({ issuer: own })
    expect(await words()).toEqual(['sign-in by oidc ok:  answers'])
    status = 500
    expect(await words()).toEqual([`sign-in by oidc problem: ${path} answers 500`])
    expect((await words('http://127.0.0.1:1/realm'))[0]).toMatch(/cannot be reached: .*ECONNREFUSED|bad port/)
  })

  test('reaches a directory, with TLS where the address says so', async () => {
    const open = await listening(createServer())
    expect(await found(ldap(`ldap://127.0.0.1:${open}`, 'plain: true'))).toEqual([
      `sign-in by ldap ok: ldap://127.0.0.1:${open} takes connections`,
    ])
    const sealed = await listening(createTlsServer(TEST_CERTIFICATE))
    const address = `ldaps://localhost:${sealed}`
    const trusted = put('ca.pem', TEST_CERTIFICATE.cert)
    expect((await found(ldap(address, '')))[0]).toMatch(/^sign-in by ldap problem: .* cannot be reached: .*self.signed/)
    for (const tls of [`ca: '${trusted}'`, 'verify: false']) {
      expect(await found(ldap(address, tls))).toEqual([`sign-in by ldap ok: ${address} takes connections`])
    }
    expect((await found(ldap('ldap://127.0.0.1:1', 'plain: true')))[0]).toContain('ECONNREFUSED')
  })
})
