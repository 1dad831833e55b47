import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createSecretBox } from '../../../control-plane/src/credentials/encryption/secret-box.js'
import { SHOWN_SECRET } from '../../../control-plane/src/credentials/stored/changes.js'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import { createCredentials } from '../../../control-plane/src/credentials/stored/credentials.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { openTestStore } from '../../support/test-database.js'

let folder: string
let store: Store
/** The credentials of credentials.yaml. */
let inFile: OpenCredential[]
let now: number
/** What was logged at which level. */
let logged: { level: number; msg: string; credentials?: string[] }[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-stored-credentials-'))
  store = await openTestStore(folder)
})
afterAll(async () => {
  await store.close()
  await rm(folder, { recursive: true })
})
beforeEach(async () => {
  inFile = []
  now = 5
  logged = []
  await store.write('test', (queries) => queries.deleteFrom('credential').execute())
})

const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(JSON.parse(line) as never) })
function opened(secret = 'a secret of this test only', changing: Store = store) {
  return createCredentials({
    store: changing,
    box: createSecretBox(secret),
    file: { all: () => Promise.resolve(inFile), problems: () => Promise.resolve([]) },
    hashicorpVault: null,
    clock: { now: () => now },
    log,
  })
}
const ofFile = (name: string): OpenCredential => ({
  id: null,
  name,
  type: 'userpass',
  user: 'f',
  host: null,
  port: null,
  description: '',
  options: {},
  password: 'of the file',
})
const NEW = { name: 'a', password: 'hush' }
const idOf = ({ id }: { id: number | null }) => id ?? 0

describe('a credential', () => {
  test('is made with defaults for what is not said, and never shows its secret', async () => {
    const credentials = opened()
    const made = await credentials.create({ ...NEW, user: '', host: '' }, 'ann')
    expect(made).toEqual({
      id: expect.any(Number) as number,
      name: 'a',
      type: 'userpass',
      user: null,
      host: null,
      port: null,
      description: '',
      options: {},
      source: 'database',
      overridden: false,
    })
    expect(await credentials.find(idOf(made))).toEqual(made)
    expect(await credentials.list()).toEqual([made])
    expect(await credentials.open('a')).toMatchObject({ name: 'a', password: 'hush' })
    expect([await credentials.has('a'), await credentials.has('b')]).toEqual([true, false])
    expect(await credentials.open('b')).toBeNull()
    expect(JSON.stringify(logged)).not.toContain('hush')
  })

  test('has a name of its own, in the database and in the file', async () => {
    const credentials = opened()
    const one = await credentials.create(NEW, 'ann')
    await expect(credentials.create(NEW, 'ann')).rejects.toMatchObject({ code: 'credential_exists' })
    inFile = [ofFile('held')]
    await expect(credentials.create({ ...NEW, name: 'held' }, 'ann')).rejects.toMatchObject({
      code: 'credential_in_file',
    })
    const other = await credentials.create({ ...NEW, name: 'b' }, 'ann')
    await expect(credentials.change(idOf(other), { name: 'held' }, 'ann')).rejects.toMatchObject({
      code: 'credential_in_file',
    })
    await expect(credentials.change(idOf(other), { name: 'a' }, 'ann')).rejects.toMatchObject({
      code: 'credential_exists',
    })
    expect(await credentials.change(idOf(one), { name: 'a', user: 'u' }, 'ann')).toMatchObject({ name: 'a', user: 'u' })
    // One that the file took over can still be changed, as long as it keeps its name.
    inFile = [ofFile('a')]
    expect(await credentials.change(idOf(one), { name: 'a', user: 'v' }, 'ann')).toMatchObject({ overridden: true })
  })

  test('keeps what a change does not say, and its secret under another name', async () => {
    const credentials = opened()
    const certificate = '-----BEGIN CERTIFICATE-----'
    const options = { db_type: 'mysql', db_name: 'd', ca: certificate } as const
    const made = await credentials.create(
      { ...NEW, type: 'database', user: 'u', host: 'h', port: 7, description: 'd', options },
      'ann',
    )
    now = 9
    for (const password of [undefined, SHOWN_SECRET]) {
      const name = password === undefined ? 'b' : 'c'
      const changes = { name, ...(password === undefined ? {} : { password }), options: { db_name: null } }
      const changed = await credentials.change(idOf(made), changes, 'ann')
      expect(changed).toEqual({ ...made, name, options: { db_type: 'mysql', ca: certificate } })
      expect(await credentials.open(name)).toMatchObject({ password: 'hush' })
    }
    await credentials.change(idOf(made), { password: 'newer', port: null, user: null, description: '' }, 'ann')
    expect(await credentials.open('c')).toMatchObject({ password: 'newer', port: null, user: null, host: 'h' })
    const row = await store.read.selectFrom('credential').selectAll().executeTakeFirstOrThrow()
    expect([Number(row.created_at), Number(row.updated_at)]).toEqual([5, 9])
  })

  test.each([
    ['password_masked', { ...NEW, password: SHOWN_SECRET }],
    ['invalid_secret', { ...NEW, type: 'ssh' as const }],
    ['invalid_secret', { ...NEW, type: 'database' as const }],
  ])('is refused with %s: %j', async (code, input) => {
    await expect(opened().create(input, 'ann')).rejects.toMatchObject({ code })
  })

  test('of another type needs another secret, and options that the type takes', async () => {
    const credentials = opened()
    const id = idOf(await credentials.create(NEW, 'ann'))
    await expect(credentials.change(id, { type: 'token' }, 'ann')).rejects.toMatchObject({ code: 'password_needed' })
    expect(await credentials.change(id, { type: 'token', password: 't' }, 'ann')).toMatchObject({ type: 'token' })
    await expect(credentials.change(id, { type: 'ssh', password: 't' }, 'ann')).rejects.toMatchObject({
      code: 'invalid_secret',
    })
    const database = { type: 'database', password: 't', options: { db_type: 'mysql' } } as const
    await credentials.change(id, database, 'ann')
    await expect(credentials.change(id, { options: { db_type: null } }, 'ann')).rejects.toMatchObject({
      code: 'invalid_secret',
    })
  })

  test('that is gone is not found, and one is removed once', async () => {
    const credentials = opened()
    const id = idOf(await credentials.create(NEW, 'ann'))
    await credentials.remove(id, 'ann')
    for (const act of [
      () => credentials.find(id),
      () => credentials.remove(id, 'ann'),
      () => credentials.change(id, {}, 'ann'),
    ]) {
      await expect(act()).rejects.toMatchObject({ code: 'credential_not_found' })
    }
  })

  test('that somebody else changed meanwhile is not changed', async () => {
    const others = opened()
    const id = idOf(await others.create(NEW, 'ann'))
    let isFirst = true
    const late: Store = {
      ...store,
      async write(name, task) {
        if (isFirst) {
          isFirst = false
          await others.change(id, { user: 'theirs', password: 'theirs' }, 'ben')
        }
        return store.write(name, task)
      },
    }
    await expect(opened(undefined, late).change(id, { user: 'mine' }, 'ann')).rejects.toMatchObject({
      code: 'credential_changed',
    })
    expect(await others.open('a')).toMatchObject({ user: 'theirs', password: 'theirs' })
  })
})

describe('another ENCRYPTION_SECRET', () => {
  test('opens no stored secret, and says which; a new one can be stored', async () => {
    const before = opened()
    const id = idOf(await before.create(NEW, 'ann'))
    await before.check()
    expect(logged.filter(({ level }) => level >= 50)).toEqual([])
    const after = opened('another secret of this test')
    await expect(after.open('a')).rejects.toThrow('ENCRYPTION_SECRET')
    await expect(after.change(id, { user: 'u' }, 'ann')).rejects.toMatchObject({ code: 'credential_closed' })
    await after.create({ ...NEW, name: 'good' }, 'ann')
    await after.check()
    expect(logged.filter(({ level }) => level >= 50)).toMatchObject([{ credentials: ['a'] }])
    await after.change(id, { password: 'newer' }, 'ann')
    expect(await after.open('a')).toMatchObject({ password: 'newer' })
  })
})

test('credentials of the file win over those of the database, and all are listed by their names', async () => {
  const credentials = opened()
  for (const name of ['c', 'a']) await credentials.create({ ...NEW, name }, 'ann')
  inFile = [ofFile('b'), ofFile('a')]
  const all = await credentials.list()
  // Of two with one name, the one in force comes first.
  expect(all.map(({ name, source, overridden }) => `${name} ${source} ${overridden}`)).toEqual([
    'a file false',
    'a database true',
    'b file false',
    'c database false',
  ])
  expect(JSON.stringify(all)).not.toContain('of the file')
  expect(await credentials.open('a')).toMatchObject({ password: 'of the file' })
  expect(await credentials.open('c')).toMatchObject({ password: 'hush' })
  expect(await credentials.has('b')).toBe(true)
  const stored = all.find(({ name, source }) => name === 'a' && source === 'database')
  expect(await credentials.find(stored?.id ?? 0)).toMatchObject({ overridden: true })
  expect(await credentials.problems()).toEqual([])
})
