import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createCredentialFile } from '../../../control-plane/src/credentials/stored/credentials-file.js'

/** How often the file is looked at. */
const LOOK_MS = 1000

let folder: string
let path: string
let now: number
let logged: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-credential-file-'))
  path = join(folder, 'credentials.yaml')
  now = 0
  logged = []
})
afterEach(() => rmSync(folder, { recursive: true }))

const opened = () =>
  createCredentialFile({
    path,
    clock: { now: () => now },
    log: {
      warn: (fields, text) => logged.push(`warn ${JSON.stringify(fields)} ${text}`),
      info: (fields, text) => logged.push(`info ${JSON.stringify(fields)} ${text}`),
    },
  })
const read = async (text: string) => {
  writeFileSync(path, text)
  const file = opened()
  const credentials = await file.all()
  return { names: credentials.map(({ name }) => name), credentials, problems: await file.problems() }
}

describe('the credentials of a file', () => {
  test('have what it says, and defaults for the rest', async () => {
    const certificate = '-----BEGIN CERTIFICATE-----'
    const { credentials, problems } = await read(`
- { name: a, password: one }
- name: b
  type: database
  user: u
  password: two
  host: h
  port: 5
  description: d
  options: { db_type: mysql, db_name: null, ca: "${certificate}" }
`)
    expect(problems).toEqual([])
    const nothing = { user: null, host: null, port: null, description: '', options: {} }
    expect(credentials).toEqual([
      { id: null, name: 'a', type: 'userpass', password: 'one', ...nothing },
      {
        id: null,
        name: 'b',
        type: 'database',
        password: 'two',
        user: 'u',
        host: 'h',
        port: 5,
        description: 'd',
        options: { db_type: 'mysql', ca: certificate },
      },
    ])
  })

  test.each([
    ['', []],
    ['# nothing', []],
    ['null', []],
    ['[]', []],
    ['credentials:', []],
    ['credentials: []', []],
    ['[{name: a, password: x}]', ['a']],
    ['credentials: [{name: a, password: x}]', ['a']],
  ])('stand in a list, which may be empty or below a key: %j', async (text, names) => {
    expect(await read(text)).toMatchObject({ names, problems: [] })
  })

  test.each(['5', 'text', '{other: []}', 'credentials: {a: b}', 'credentials: 5'])(
    'are none in a file that is no list: %j',
    async (text) => {
      const reason = 'must be a list of credentials, by itself or under the key credentials'
      expect(await read(text)).toMatchObject({ names: [], problems: [{ file: path, line: 1, reason }] })
    },
  )

  test('that are wrong are left out with their line and a reason, and the others are there', async () => {
    const { names, problems } = await read(`credentials:
  - { name: a, password: x }
  - { name: b, type: ssh, password: no key }
  - { name: a, password: other }
  - { name: "c,d", password: x }
  - { password: x }
  - name: e
    password: x
    port: 70000
  - { name: f, type: database, password: x }
  - { name: g, password: y }
`)
    expect(names).toEqual(['a', 'g'])
    expect(problems.map(({ line }) => line)).toEqual([3, 4, 5, 6, 9, 10])
    expect(problems[0]?.reason).toContain('must be a private key')
    expect(problems[1]?.reason).toBe('there already is a credential named a')
    expect(problems[5]?.reason).toBe('the type database needs options.db_type')
    expect(logged.filter((line) => line.endsWith('an entry of credentials.yaml was left out'))).toHaveLength(6)
    expect(logged.at(-1)).toBe(`info ${JSON.stringify({ file: path, credentials: 2 })} credentials were read`)
  })

  test('in a file that is not YAML are none, and nothing of the file is told but the line', async () => {
    const { names, problems } = await read('- name: a\n  password: "canary\n- : [')
    expect(names).toEqual([])
    expect(problems).toEqual([
      {
        file: path,
        line: expect.any(Number) as number,
        reason: expect.stringContaining('not valid YAML here') as string,
      },
    ])
    expect(logged.join()).not.toContain('canary')
  })
})

describe('the file', () => {
  const names = async (file: ReturnType<typeof opened>) => (await file.all()).map(({ name }) => name)
  const named = (name: string) => `- { name: ${name}, password: x }`

  test('is looked at once in a second, read again when it changed, and its credentials end with it', async () => {
    const file = opened()
    expect([await names(file), await file.problems(), logged]).toEqual([[], [], []])
    writeFileSync(path, named('a'))
    now = LOOK_MS
    expect(await names(file)).toEqual(['a'])
    writeFileSync(path, named('longer'))
    now = 2 * LOOK_MS - 1
    expect(await names(file)).toEqual(['a'])
    now = 2 * LOOK_MS
    expect(await names(file)).toEqual(['longer'])
    now = 3 * LOOK_MS
    await names(file)
    expect(logged).toHaveLength(2)
    rmSync(path)
    now = 4 * LOOK_MS
    expect([await names(file), await file.problems()]).toEqual([[], []])
  })

  test('that is wrong as a whole leaves the last good credentials in force, and is told once', async () => {
    writeFileSync(path, named('a'))
    const file = opened()
    expect(await names(file)).toEqual(['a'])
    logged = []
    writeFileSync(path, '{ wrong: 1 }')
    for (let look = 1; look < 4; look += 1) {
      now = look * LOOK_MS
      expect(await names(file)).toEqual(['a'])
    }
    expect(await file.problems()).toMatchObject([{ line: 1 }])
    expect(logged).toHaveLength(1)
    expect(logged[0]).toContain('the credentials were not changed')
  })

  test('that cannot be read is a problem without a line, and is read as soon as it can be', async () => {
    mkdirSync(path)
    const file = opened()
    expect(await file.problems()).toEqual([
      { file: path, line: null, reason: expect.stringMatching('EISDIR') as string },
    ])
    now = LOOK_MS
    expect(await names(file)).toEqual([])
    expect(logged).toHaveLength(1)
    rmSync(path, { recursive: true })
    writeFileSync(path, named('a'))
    now = 2 * LOOK_MS
    expect([await names(file), await file.problems()]).toEqual([['a'], []])
  })

  test('that comes back as it was, after it could not be read, is good again', async () => {
    writeFileSync(path, named('a'))
    const file = opened()
    expect(await names(file)).toEqual(['a'])
    renameSync(path, `${path}.away`)
    mkdirSync(path)
    now = LOOK_MS
    expect(await file.problems()).toHaveLength(1)
    rmSync(path, { recursive: true })
    renameSync(`${path}.away`, path)
    now = 2 * LOOK_MS
    expect([await names(file), await file.problems()]).toEqual([['a'], []])
  })

  test('below something that is no folder is a problem', async () => {
    writeFileSync(path, '')
    path = join(path, 'credentials.yaml')
    expect(await opened().problems()).toMatchObject([
      { line: null, reason: expect.stringMatching('ENOTDIR') as string },
    ])
  })
})
