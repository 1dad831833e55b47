import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createSecretBox } from '../../../control-plane/src/credentials/encryption/secret-box.js'
import { type Answer, ENCRYPTION_SECRET, type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'
import { IS_ON_POSTGRES, everythingStored } from '../../support/test-database.js'

const SECRET = 'canary-of-the-credentials'
const KEY = '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAAkeycanary\n-----END OPENSSH PRIVATE KEY-----\n'

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'

/** As `ssh-keygen -N secret` begins it: after the magic stands the name of a cipher. */
const LOCKED = Buffer.concat([Buffer.from('openssh-key-v1\0\0\0\0\x0aaes256-ctr'), Buffer.alloc(40)])
const LOCKED_KEY = KEY.replace('AAAAkeycanary', LOCKED.toString('base64'))

let server: TestServer
let log: string[]
let number = 0
let name: string

beforeAll(async () => {
  log = []
  server = await startServer({ log })
})

afterAll(() => server.close())

beforeEach(() => {
  number += 1
  name = `credential ${number}`
})

const call = (method: string, path: string, json?: unknown): Promise<Answer> =>
  server.call(method, path, { token: server.admin, ...(json === undefined ? {} : { json }) })

async function create(more: Record<string, unknown> = {}): Promise<number> {
  const answer = await call('POST', '/credential', { name, password: SECRET, ...more })
  expect(answer.status, answer.text).toBe(200)
  return Number(answer.body.id)
}

async function secretOf(credential: string): Promise<string | undefined> {
  return (await server.parts.credentials.credentials.open(credential))?.password
}

const records = async () => (await call('GET', '/credential')).body.records as Record<string, unknown>[]

describe('credentials over REST', () => {
  test('are made, read, listed, changed and deleted; the secret is shown as ******** and never returned', async () => {
    covers('credential.routes', 'credential.hidden')
    const fields = { type: 'userpass', user: 'app', host: 'db.example.com', port: 5432, description: 'for tests' }
    const made = await call('POST', '/credential', { name, password: SECRET, ...fields })
    const shown = { id: made.body.id, name, ...fields, password: '********', source: 'database', overridden: false }
    expect(made.body).toEqual(shown)
    const path = `/credential/${Number(made.body.id)}`
    expect((await call('GET', path)).body).toEqual(shown)
    expect(await records()).toContainEqual(shown)
    const changed = await call('PUT', path, { host: 'other', port: null })
    expect(changed.body).toEqual({ ...shown, host: 'other', port: null })
    expect(await call('DELETE', path)).toMatchObject({ status: 200, body: { message: 'The credential was deleted' } })
    expect((await call('GET', path)).status).toBe(404)
  })

  test('keep their secret when a change has none, or only the mask of a list', async () => {
    const id = await create()
    await call('PUT', `/credential/${id}`, { user: 'a' })
    expect(await secretOf(name)).toBe(SECRET)
    const changed = await call('PUT', `/credential/${id}`, { password: '********', user: 'b' })
    expect(changed).toMatchObject({ status: 200, body: { user: 'b' } })
    expect(await secretOf(name)).toBe(SECRET)
    await call('PUT', `/credential/${id}`, { name: `${name} renamed` })
    expect(await secretOf(`${name} renamed`)).toBe(SECRET)
    await call('PUT', `/credential/${id}`, { password: 'a new one' })
    expect(await secretOf(`${name} renamed`)).toBe('a new one')
  })

  test.each<[string, Record<string, unknown>]>([
    ['no name', { name: undefined }],
    ['an empty name', { name: '' }],
    ['a name with a comma, which separates a credential from its stand-in', { name: 'a,b' }],
    ['a name with a space at its end', { name: 'a ' }],
    ['no secret', { password: undefined }],
    ['an empty secret', { password: '' }],
    ['the mask as secret', { password: '********' }],
    ['an unknown type', { type: 'smartcard' }],
    ['a database without its kind', { type: 'database' }],
    ['a database of a kind that cannot be asked', { type: 'database', options: { db_type: 'dbase' } }],
    ['a client certificate without the certificate', { type: 'certificate', password: KEY }],
    ['a client certificate without a key', { type: 'certificate', options: { certificate: CERTIFICATE } }],
    ['an option that there is not', { options: { pasword: 'x' } }],
    ['a port that is none', { port: 70_000 }],
    ['a key that is none', { type: 'ssh' }],
    ['an OpenSSH key with a passphrase', { type: 'ssh', password: LOCKED_KEY }],
    ['a PEM key with a passphrase', { type: 'ssh', password: KEY.replace('AAAA', 'Proc-Type: 4,ENCRYPTED\n') }],
  ])('with %s are refused with 400 and without showing the secret', async (_, wrong) => {
    const answer = await call('POST', '/credential', { name, password: SECRET, ...wrong })
    expect(answer.status, answer.text).toBe(400)
    expect(answer.text).not.toMatch(/canary/)
    expect((await records()).some((one) => one.name === name)).toBe(false)
  })

  test('with a key that is none are told in which forms a key of their type comes', async () => {
    const refusalOf = async (more: object) =>
      (await call('POST', '/credential', { name, password: SECRET, ...more })).body.error
    expect(await refusalOf({ type: 'ssh' })).toContain('must be a private key (PEM or OpenSSH)')
    const certificate = { type: 'certificate', options: { certificate: CERTIFICATE } }
    expect(await refusalOf(certificate)).toContain('must be a private key (PEM)')
  })

  test('of databases, REST services and client certificates have further options', async () => {
    const options = { db_type: 'postgres', db_name: 'cmdb', secure: true, ca: CERTIFICATE }
    const id = await create({ type: 'database', host: 'db.example', user: 'reader', options })
    expect((await call('GET', `/credential/${id}`)).body).toMatchObject({ type: 'database', options })
    const changed = await call('PUT', `/credential/${id}`, { options: { db_name: 'other', ca: null } })
    expect(changed.body.options).toEqual({ db_type: 'postgres', db_name: 'other', secure: true })
    expect((await call('PUT', `/credential/${id}`, { options: { db_type: null } })).status).toBe(400)
    expect((await call('PUT', `/credential/${id}`, { host: 'db2.example' })).body.options).toEqual(changed.body.options)
    expect(await secretOf(name)).toBe(SECRET)
    expect((await call('POST', '/credential', { name: `${name} t`, type: 'token', password: SECRET })).status).toBe(200)
    const certificate = { type: 'certificate', password: KEY, options: { certificate: CERTIFICATE } }
    expect((await call('POST', '/credential', { name: `${name} c`, ...certificate })).status).toBe(200)
  })

  test('have different names: 409 for one that is taken', async () => {
    await create()
    expect((await call('POST', '/credential', { name, password: 'x' })).status).toBe(409)
    const taken = name
    name = `${name} other`
    const id = await create()
    expect((await call('PUT', `/credential/${id}`, { name: taken })).status).toBe(409)
    expect(await secretOf(taken)).toBe(SECRET)
  })

  test('of another type need another secret', async () => {
    const id = await create()
    expect((await call('PUT', `/credential/${id}`, { type: 'ssh' })).status).toBe(400)
    expect((await call('PUT', `/credential/${id}`, { type: 'ssh', password: KEY })).status).toBe(200)
    expect((await call('PUT', `/credential/${id}`, { password: 'no key' })).status).toBe(400)
  })

  test('that are unknown are 404, ids that are none 400', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const json = method === 'PUT' ? {} : undefined
      expect((await call(method, '/credential/999999', json)).status).toBe(404)
      expect((await call(method, '/credential/x', json)).status).toBe(400)
    }
  })

  test('that are changed by two requests at once never mix both changes', async () => {
    const id = await create()
    const changes = ['one', 'two', 'three', 'four'].map((word) =>
      call('PUT', `/credential/${id}`, { name: `${name} ${word}`, password: `secret ${word}` }),
    )
    const statuses = (await Promise.all(changes)).map(({ status }) => status)
    expect(statuses.every((status) => status === 200 || status === 409)).toBe(true)
    const { body } = await call('GET', `/credential/${id}`)
    expect(await secretOf(String(body.name))).toBe(`secret ${String(body.name).split(' ').at(-1) ?? ''}`)
  })

  test('are stored encrypted: neither the database nor its log nor the program’s log has a secret', async () => {
    covers('credential.hidden')
    await create()
    expect(await everythingStored(server.store)).toContain(name)
    expect(await everythingStored(server.store)).not.toContain(SECRET)
    const files = readdirSync(server.folder).filter((file) => file.startsWith('holdfast.db'))
    if (!IS_ON_POSTGRES) expect(files).toContain('holdfast.db-wal')
    for (const file of files) expect(readFileSync(join(server.folder, file)).includes(SECRET)).toBe(false)
    expect(log.join('')).not.toContain(SECRET)
    expect(log.join('')).toContain('credential made')
  })

  test('that are moved to another name in the database cannot be opened there', async () => {
    await create()
    const moved = name
    name = `${name} other`
    const id = await create({ password: 'another' })
    await server.store.write('test', async (queries) => {
      const row = await queries.selectFrom('credential').selectAll().where('name', '=', moved).executeTakeFirstOrThrow()
      await queries.updateTable('credential').set({ secret: row.secret }).where('id', '=', id).execute()
    })
    await expect(secretOf(name)).rejects.toThrow('ENCRYPTION_SECRET is not the one that it was stored with')
    await call('DELETE', `/credential/${id}`)
  })
})

describe('credentials.yaml', () => {
  const entry = (more: string) => `- {name: from file, user: f, password: '${SECRET}-file'${more}}\n`
  const ofFile = async () => (await records()).filter((one) => one.source === 'file')
  const errors = async () => (await call('GET', '/credential')).body.errors as Record<string, unknown>[]

  test('is a second source, which is read again when it changes, and ends with the file', async () => {
    covers('credential.file')
    await server.writeCredentials(`credentials:\n  ${entry(', port: 22')}`)
    expect(await ofFile()).toEqual([
      {
        id: null,
        name: 'from file',
        type: 'userpass',
        user: 'f',
        password: '********',
        host: null,
        port: 22,
        description: '',
        source: 'file',
        overridden: false,
      },
    ])
    await server.writeCredentials(entry('').replace('from file', 'renamed'))
    expect((await ofFile()).map((one) => one.name)).toEqual(['renamed'])
    expect(await secretOf('renamed')).toBe(`${SECRET}-file`)
    await server.writeCredentials(null)
    expect(await ofFile()).toEqual([])
  })

  test('wins over the database for equal names, and nobody can use its names over REST', async () => {
    covers('credential.file')
    const id = await create()
    await server.writeCredentials(entry('').replace('from file', name))
    expect(await secretOf(name)).toBe(`${SECRET}-file`)
    expect((await call('GET', `/credential/${id}`)).body).toMatchObject({ source: 'database', overridden: true })
    await server.writeCredentials(entry(''))
    expect(await secretOf(name)).toBe(SECRET)
    // Both sources together are one list by name: 'credential …' of the database before 'from file'.
    const names = (await records()).map((one) => one.name)
    expect(names).toContain('from file')
    expect(names).toEqual([...names].sort())
    expect((await call('POST', '/credential', { name: 'from file', password: 'x' })).body.code).toBe(
      'credential_in_file',
    )
    expect((await call('PUT', `/credential/${id}`, { name: 'from file' })).status).toBe(409)
    await server.writeCredentials(null)
  })

  test('with wrong entries: they are reported with their line and left out, and the others load', async () => {
    const bad = `- {name: no secret}\n- {name: wrong, password: [${SECRET}]}\n- {name: k, type: ssh, password: ${SECRET}}\n`
    await server.writeCredentials(bad + entry('') + entry(''))
    expect((await ofFile()).map((one) => one.name)).toEqual(['from file'])
    expect((await errors()).map(({ line }) => line)).toEqual([1, 2, 3, 5])
    expect(JSON.stringify(await errors())).not.toContain(SECRET)
    await server.writeCredentials(null)
    expect(await errors()).toEqual([])
  })

  test.each([
    ['an alias', `- {name: from file, password: *${SECRET}}`],
    ['a broken quote', `- {name: x, password: "${SECRET}`],
    ['a stray bracket', `- name: x\n  password: ${SECRET}\n]${SECRET}`],
    ['no list', `name: ${SECRET}`],
    ['another text', SECRET],
  ])('broken by %s leaves the last valid one in force, and its error shows no secret', async (_, text) => {
    await server.writeCredentials(entry(''))
    expect(await ofFile()).toHaveLength(1)
    await server.writeCredentials(text)
    expect(await ofFile()).toHaveLength(1)
    expect(await errors()).toMatchObject([{ file: join(server.folder, 'credentials.yaml') }])
    expect(JSON.stringify(await errors()) + log.join('')).not.toContain(SECRET)
    await server.writeCredentials(null)
  })
})

describe('a stored secret', () => {
  const box = createSecretBox(ENCRYPTION_SECRET)

  test('can be opened only for its owner, and not if any byte was changed', () => {
    const sealed = box.seal(SECRET, 'owner')
    expect(box.open(sealed, 'owner')).toBe(SECRET)
    expect(() => box.open(sealed, 'other')).toThrow('ENCRYPTION_SECRET')
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed)
      changed.writeUInt8((changed.readUInt8(at) ^ 1) & 0xff, at)
      expect(() => box.open(changed, 'owner')).toThrow()
    }
  })

  test('cannot be opened with another ENCRYPTION_SECRET, and the error says so', () => {
    const sealed = box.seal(SECRET, 'owner')
    expect(() => createSecretBox(`${ENCRYPTION_SECRET}!`).open(sealed, 'owner')).toThrow(
      'ENCRYPTION_SECRET is not the one that it was stored with',
    )
  })
})
