import { randomBytes } from 'node:crypto'
import { rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { findJobFiles, linkJobFiles } from '../../../control-plane/src/store/uploads/uploads.js'
import { waitFor } from '../../support/wait.js'
import { type ServerOptions, type TestServer, startServer } from '../server.js'
import { stored, upload } from '../upload-client.js'
import { covers } from '../../interface/covers.js'

const FORM = `name: install
type: ansible
roles: [default]
playbook: site.yml
fields:
  - {name: cert, type: file}
  - {name: key, type: file}
  - {name: title, type: text}
`
const DAY_MS = 24 * 60 * 60_000

let server: TestServer
let ann: { token: string }
const begin = async (options: ServerOptions = { forms: { 'install.yml': FORM } }) => {
  server = await startServer(options)
  ann = await server.addUser('ann')
}
const close = () => server.close()

const launch = (files: unknown, { title, ...extravars }: Record<string, unknown> = {}, token = ann.token) => {
  const rawFormData = title === undefined ? {} : { title }
  return server.call('POST', '/job', { token, json: { formName: 'install', rawFormData, extravars, files } })
}
const jobs = () => server.store.read.selectFrom('job').selectAll().execute()
const extravarsOf = async (id: unknown) =>
  (await server.call('GET', `/job/${String(id)}`, { token: server.admin })).body.extravars as Record<string, unknown>

describe('files of a launch', () => {
  beforeAll(() => begin())
  afterAll(close)

  test('the variable of the file field is the whole description, whatever the client sent for it', async () => {
    covers('launch.files', 'rule-3.unchanged')
    const cert = await upload(server, 'site.pem', randomBytes(1234), ann.token)
    const answer = await launch({ cert }, { title: 'x', cert: { path: '/etc/shadow' }, key: { path: '/etc/passwd' } })
    expect(answer.status).toBe(200)
    const extravars = await extravarsOf(answer.body.id)
    expect(extravars).toMatchObject({ title: 'x', cert: { ...cert, size: 1234 } })
    expect(extravars).not.toHaveProperty('key')
    const [file] = await findJobFiles(server.store.read, [Number(answer.body.id)])
    expect(file).toMatchObject({ field: 'cert', stored_name: cert.filename, original_name: 'site.pem', size: 1234 })
  })

  test('size, names and path come from the service, and those of the sent description are ignored', async () => {
    covers('rule-1.disk', 'validation.upload-claim')
    const cert = await upload(server, 'site.pem', 'hello', ann.token)
    const claim = { ...cert, size: 1, originalname: 'other.exe', mimetype: 'x/y', destination: '/etc', extra: 'word' }
    const answer = await launch({ cert: claim })
    expect(answer.status).toBe(200)
    expect((await extravarsOf(answer.body.id)).cert).toEqual(cert)
  })

  test('a field without a file may be null; one upload may be in several fields', async () => {
    const cert = await upload(server, 'a', 'x', ann.token)
    expect((await launch({ cert: null })).status).toBe(200)
    const answer = await launch({ cert, key: cert })
    expect(await findJobFiles(server.store.read, [Number(answer.body.id)])).toHaveLength(2)
  })

  test('an admin may use the upload of another user, another user may not', async () => {
    const cert = await upload(server, 'a', 'x', ann.token)
    const bob = await server.addUser('bob')
    const refused = await launch({ cert }, {}, bob.token)
    expect(refused).toMatchObject({
      status: 422,
      body: { details: { uploads: ['cert'], validationErrors: { cert: [{ type: 'foreign' }] } } },
    })
    expect((await launch({ cert }, {}, server.admin)).status).toBe(200)
  })

  test('a path with dots that leads to the file counts as that file', async () => {
    const cert = await upload(server, 'a', 'x', ann.token)
    const path = `${String(cert.destination)}/../uploads/./${String(cert.filename)}`
    const answer = await launch({ cert: { path } })
    expect((await extravarsOf(answer.body.id)).cert).toEqual(cert)
  })
})

describe('422 with the field and the reason, and nothing is created', () => {
  beforeAll(() => begin())
  afterAll(close)

  const hex = 'ab'.repeat(16)
  const inFolder = (name: string) => join(server.folder, 'uploads', name)
  const cases: [string, (own: Record<string, unknown>) => unknown, string][] = [
    ['no description', () => 'text', 'invalid'],
    ['a description without a path', ({ path: _, ...rest }) => rest, 'invalid'],
    ['a path that is no text', (own) => ({ ...own, path: 1 }), 'invalid'],
    ['a file name that is not the one of the path', (own) => ({ ...own, filename: hex }), 'invalid'],
    ['a path elsewhere', (own) => ({ ...own, path: '/etc/passwd' }), 'outside'],
    [
      'a path that leaves the folder',
      (own) => ({ ...own, path: `${String(own.destination)}/../config.yaml` }),
      'outside',
    ],
    ['a path below the folder', (own) => ({ ...own, path: `${String(own.path)}/x` }), 'outside'],
    ['a relative path', (own) => ({ ...own, path: String(own.filename) }), 'outside'],
    ['a path with NUL', (own) => ({ ...own, path: `${String(own.path)}\0` }), 'outside'],
    ['the folder itself', (own) => ({ ...own, path: own.destination }), 'outside'],
    ['an upload that never was', () => ({ path: inFolder(hex) }), 'unknown'],
    [
      'a file that somebody put into the folder',
      () => {
        writeFileSync(inFolder(hex), 'x')
        return { path: inFolder(hex) }
      },
      'unknown',
    ],
    [
      'an upload whose file is gone',
      (own) => {
        rmSync(String(own.path))
        return own
      },
      'missing',
    ],
    [
      'an upload whose file became a link out of the folder',
      (own) => {
        unlinkSync(String(own.path))
        symlinkSync('/etc/passwd', String(own.path))
        return own
      },
      'missing',
    ],
    [
      'an upload whose file was written to',
      (own) => {
        writeFileSync(String(own.path), 'something else')
        return own
      },
      'changed',
    ],
  ]
  test.each(cases)('%s', async (_what, claimOf, reason) => {
    const own = await upload(server, 'a', 'x', ann.token)
    const answer = await launch({ cert: claimOf(own) })
    expect(answer).toMatchObject({ status: 422, body: { code: 'uploads_refused' } })
    expect(answer.body.details).toEqual({
      missing: [],
      invalid: [],
      waiting: [],
      rowErrors: {},
      uploads: ['cert'],
      validationErrors: { cert: [{ type: reason, description: expect.stringMatching(/\w{3}/) as string }] },
    })
    expect(await jobs()).toEqual([])
  })

  test('every wrong field is named, also those that the form does not have', async () => {
    const own = await upload(server, 'a', 'x', ann.token)
    const answer = await launch({ cert: own, key: 'x', title: own, other: own })
    const { uploads, validationErrors } = answer.body.details as {
      uploads: string[]
      validationErrors: Record<string, { type: string }[]>
    }
    expect([...uploads].sort()).toEqual(['key', 'other', 'title'])
    expect(uploads.map((field) => [field, ...(validationErrors[field] ?? []).map(({ type }) => type)]).sort()).toEqual([
      ['key', 'invalid'],
      ['other', 'no_file_field'],
      ['title', 'no_file_field'],
    ])
    expect(await jobs()).toEqual([])
  })

  test('files that are not an object are 400', async () => {
    expect((await launch('text')).status).toBe(400)
  })
})

describe('clean-up', () => {
  beforeEach(() => begin())
  afterEach(close)

  const files = () => stored(server)

  test('an upload without a job is removed after a day, one with a job stays', async () => {
    const used = await upload(server, 'used', 'x', ann.token)
    await upload(server, 'unused', 'y', ann.token)
    await launch({ cert: used })
    await server.pass(DAY_MS - 1000)
    await server.parts.uploads.sweeper.sweep()
    expect(files()).toHaveLength(2)
    await server.pass(2 * 3_600_000)
    await server.parts.uploads.sweeper.sweep()
    expect(files()).toEqual([used.filename])
    const { token } = await server.signIn('ann')
    expect((await launch({ cert: used }, {}, token)).status).toBe(200)
  })

  test('complete and partial files without a row are removed after a day; other files stay', async () => {
    const folder = join(server.folder, 'uploads')
    for (const name of ['ab'.repeat(16), `${'cd'.repeat(16)}.part`, 'notes.txt']) writeFileSync(join(folder, name), 'x')
    await server.pass(DAY_MS / 2)
    await server.parts.uploads.sweeper.sweep()
    expect(files()).toHaveLength(3)
    await server.pass(DAY_MS + 60_000)
    await server.parts.uploads.sweeper.sweep()
    expect(files()).toEqual(['notes.txt'])
  })

  test('an upload is removed with the last job that refers to it', async () => {
    const cert = await upload(server, 'a', 'x', ann.token)
    const ids = [(await launch({ cert })).body.id, (await launch({ key: cert })).body.id]
    expect((await server.call('DELETE', `/job/${String(ids[0])}`, { token: ann.token })).status).toBe(200)
    await server.parts.uploads.sweeper.sweep()
    expect(files()).toEqual([cert.filename])
    expect((await server.call('DELETE', `/job/${String(ids[1])}`, { token: ann.token })).status).toBe(200)
    await waitFor('the file to go', () => files().length === 0)
    expect(await launch({ cert })).toMatchObject({ status: 422 })
  })

  test('an upload that was removed during the launch is named, and nothing is stored', async () => {
    const id = Number((await launch({})).body.id)
    const cert = await upload(server, 'a', 'x', ann.token)
    const [row] = await server.store.read.selectFrom('upload').selectAll().execute()
    const uploads = [
      { field: 'cert', uploadId: row?.id ?? 0 },
      { field: 'key', uploadId: 99 },
    ]
    expect(await server.store.write('test', (queries) => linkJobFiles(queries, id, uploads))).toEqual(['key'])
    expect(await findJobFiles(server.store.read, [id])).toEqual([])
    expect(files()).toEqual([cert.filename])
  })
})

describe('enforce', () => {
  const CHECKED = `name: checked
type: ansible
roles: [default]
playbook: site.yml
fields:
  - {name: image, type: file, required: true, minSize: 5, maxSize: 10, regex: {expression: "[.]iso$", description: an iso}, model: vm.disk.image}
  - {name: with_key, type: checkbox}
  - {name: key, type: file, dependencies: [{name: with_key, values: [true]}]}
`
  const checked = (rawFormData: object, files: object) =>
    server.call('POST', '/job', { token: ann.token, json: { formName: 'checked', rawFormData, files } })

  beforeAll(() => begin({ forms: { 'checked.yml': CHECKED }, settings: { LAUNCH_VALIDATION: 'enforce' } }))
  afterAll(close)

  test('the upload is at the place of the model, and only files that the playbook gets are sent', async () => {
    const image = await upload(server, 'a.iso', '1234567', ann.token)
    const key = await upload(server, 'key', 'x', ann.token)
    const hidden = await checked({ with_key: false, image: { path: '/etc/passwd' } }, { image, key })
    expect(hidden.status, JSON.stringify(hidden.body)).toBe(200)
    expect(await extravarsOf(hidden.body.id)).toMatchObject({ vm: { disk: { image } } })
    expect(await extravarsOf(hidden.body.id)).not.toHaveProperty('key')
    const fieldsOf = async (id: unknown) =>
      (await findJobFiles(server.store.read, [Number(id)])).map(({ field }) => field)
    expect(await fieldsOf(hidden.body.id)).toEqual(['image'])
    const shown = await checked({ with_key: true }, { image, key })
    expect(await fieldsOf(shown.body.id)).toEqual(['image', 'key'])
  })

  test('minSize, maxSize and regex are about the stored file; without one a required field is missing', async () => {
    covers('rule-1.disk', 'rule-3.upload-first')
    const small = await upload(server, 'a.iso', '123', ann.token)
    const large = await upload(server, 'a.iso', '12345678901', ann.token)
    const named = await upload(server, 'a.img', '1234567', ann.token)
    const before = (await jobs()).length
    for (const [file, type] of [
      [{ ...small, size: 7 }, 'minSize'],
      [{ ...large, size: 7 }, 'maxSize'],
      [{ ...named, originalname: 'a.iso' }, 'regex'],
    ] as const) {
      expect(await checked({}, { image: file })).toMatchObject({
        status: 422,
        body: { code: 'values_refused', details: { invalid: ['image'], validationErrors: { image: [{ type }] } } },
      })
    }
    expect(await checked({}, {})).toMatchObject({ status: 422, body: { details: { missing: ['image'] } } })
    expect(await jobs()).toHaveLength(before)
  })
})
