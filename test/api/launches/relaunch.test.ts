import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type TestServer, startServer } from '../server.js'
import { upload } from '../upload-client.js'

/** What a job runs with when it is run again, where launches are checked (LAUNCH_VALIDATION=enforce). */
let server: TestServer
let ann: string
let max: string

const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: managers, groups: [local/managers], options: {manageAllJobs: true}}
  - {name: default, groups: [], options: {allowJobRelaunch: true}}
`
const ansible = (name: string, more: object) => ({ name, playbook: 'p.yml', roles: ['default'], ...more })
const FORMS = [
  ansible('order', {
    fields: [
      { name: 'name', required: true, minLength: 2 },
      { name: 'count', type: 'number', model: 'vm.count' },
      { name: 'upper', type: 'expression', runLocal: true, expression: "'$(name)'.toUpperCase()" },
      { name: 'api_token' },
      { name: 'pin', type: 'password', model: 'vm.code' },
      { name: 'friends', type: 'list', subform: 'friend' },
    ],
  }),
  {
    name: 'friend',
    type: 'subform',
    fields: [{ name: 'who', required: true }, { name: 'code', type: 'password' }, { name: 'their_token' }],
  },
  ansible('locked', { fields: [{ name: 'pin', type: 'password', required: true }] }),
  ansible('file', {
    fields: [{ name: 'cert', type: 'file' }, { name: 'key', type: 'file', required: true }, { name: 'title' }],
  }),
  ansible('steps', {
    fields: [{ name: 'why' }],
    wizard: [{ name: 'net', subform: 'network', defaultModel: 'network' }],
  }),
  {
    name: 'network',
    type: 'subform',
    fields: [{ name: 'vlan', type: 'number' }, { name: 'host' }, { name: 'pw', type: 'password' }],
  },
  ansible('secret', { credentials: { db: 'gone,team' }, fields: [{ name: 'key', asCredential: true }] }),
  ansible('loud', { verbose: true, fields: [] }),
]

beforeAll(async () => {
  server = await startServer({
    config: CONFIG,
    forms: { 'all.yml': JSON.stringify(FORMS) },
    settings: { LAUNCH_VALIDATION: 'enforce' },
  })
  ann = (await server.addUser('ann')).token
  max = (await server.addUser('max', ['managers'])).token
})
afterAll(() => server.close())

const post = (path: string, json?: unknown, token = ann) => server.call('POST', path, { token, json })
const read = async (id: number, what = '') =>
  (await server.call('GET', `/job/${id}${what}`, { token: server.admin })).body

/** The variables of a job as they reach the playbook. */
async function variablesOf(id: number): Promise<Record<string, unknown>> {
  const row = await server.store.read
    .selectFrom('job')
    .select('extravars')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return JSON.parse(row.extravars) as Record<string, unknown>
}

/** Launches a form; without a runner the job fails at once, which ends it. */
async function launched(formName: string, rawFormData: object, more: object = {}): Promise<number> {
  const answer = await post('/job', { formName, rawFormData, ...more })
  expect(answer.status, answer.text).toBe(200)
  return Number(answer.body.id)
}

/** Runs a job again and gives the id of the new one. */
async function again(id: number, json?: unknown, token = ann): Promise<number> {
  const answer = await post(`/job/${id}/relaunch`, json, token)
  expect(answer.status, answer.text).toBe(200)
  return Number(answer.body.id)
}

async function refused(id: number, json?: unknown, status = 422) {
  const jobs = async () => (await server.store.read.selectFrom('job').select('id').execute()).length
  const before = await jobs()
  const answer = await post(`/job/${id}/relaunch`, json)
  expect(answer.status, answer.text).toBe(status)
  expect(await jobs()).toBe(before)
  return answer.body
}

describe('without changes', () => {
  test('the answer is a message and the id of the new job, which has the same values and belongs to the caller', async () => {
    covers('endpoint.relaunch', 'action.relaunch', 'action.relaunch-id', 'rule-11.changes')
    const id = await launched('order', { name: 'web', count: 3, friends: [{ who: 'Eve' }] })
    const { status, body } = await post(`/job/${id}/relaunch`, undefined, max)
    expect([status, body]).toEqual([
      200,
      { message: `Job ${id} was launched again as job ${Number(body.id)}`, id: expect.any(Number) as number },
    ])
    const job = await read(Number(body.id))
    expect(job).toMatchObject({
      form: 'order',
      user: 'max',
      extravars: { name: 'web', upper: 'WEB', vm: { count: 3 } },
    })
    expect(job.extravars).toMatchObject({ ansibleforms_user: { username: 'max' } })
    expect(await read(Number(body.id), '/rawformdata')).toEqual(await read(id, '/rawformdata'))
  })

  test('an empty text is not a password: it is kept, so that the playbook gets it again', async () => {
    const friends = [{ who: 'Eve', code: '' }]
    const id = await launched('order', { name: 'web', pin: '', friends })
    expect(await variablesOf(await again(id))).toMatchObject({ vm: { code: '' }, friends })
  })

  test.each([
    ['no body at all', {}],
    ['an empty body', { body: '' }],
    ['an empty body that says it is JSON', { body: '', headers: { 'content-type': 'application/json' } }],
    ['an empty body of another kind', { body: '', headers: { 'content-type': 'text/plain' } }],
    ['{}', { json: {} }],
    ['values that are empty', { json: { values: {} } }],
    ['values that are null', { json: { values: null, files: null } }],
  ])('%s works', async (_what, options) => {
    const id = await launched('order', { name: 'web' })
    const answer = await server.call('POST', `/job/${id}/relaunch`, { token: ann, ...options })
    expect(answer.status, answer.text).toBe(200)
    expect(await variablesOf(Number(answer.body.id))).toMatchObject({ name: 'web' })
  })

  test('the present form counts: new properties apply, and removed fields are left out', async () => {
    const form = (fields: object[]) => JSON.stringify([ansible('moving', { fields })])
    await server.writeForm('moving.yml', form([{ name: 'a' }, { name: 'b' }]))
    const id = await launched('moving', { a: '1', b: '2' })
    await server.writeForm(
      'moving.yml',
      form([
        { name: 'a', model: 'x.a' },
        { name: 'c', default: 'new' },
      ]),
    )
    const variables = await variablesOf(await again(id))
    expect(variables).toMatchObject({ x: { a: '1' }, c: 'new' })
    expect(variables).not.toHaveProperty('b')
    await server.writeForm('moving.yml', form([{ name: 'a' }, { name: 'd', required: true }]))
    expect(await refused(id)).toMatchObject({ details: { missing: ['d'] } })
    await server.writeForm('moving.yml', '[]')
    expect(await refused(id, undefined, 404)).toMatchObject({ code: 'form_not_found' })
  })

  test('credentials: the choice of a field is kept, and the form chooses its own from the present ones', async () => {
    for (const name of ['team', 'mine']) {
      await server.call('POST', '/credential', { token: server.admin, json: { name, password: 'x' } })
    }
    const id = await launched('secret', { key: 'mine' })
    expect((await read(id)).credentials).toEqual({ db: 'team', key: 'mine' })
    await server.call('POST', '/credential', { token: server.admin, json: { name: 'gone', password: 'x' } })
    expect((await read(await again(id))).credentials).toEqual({ db: 'gone', key: 'mine' })
  })

  test('verbose: a relaunch is verbose only if it or the form says so', async () => {
    covers('rule-11.verbose')
    const id = await launched('order', { name: 'web' }, { extravars: { __verbose__: true } })
    expect(await variablesOf(id)).toMatchObject({ __verbose__: true })
    expect(await variablesOf(await again(id))).not.toHaveProperty('__verbose__')
    const { body } = await post(`/job/${id}/relaunch?verbose=true`)
    expect(await variablesOf(Number(body.id))).toMatchObject({ __verbose__: true })
    expect(await read(Number(body.id), '/rawformdata')).toEqual({ name: 'web' })
    expect(await variablesOf(await again(await launched('loud', {})))).toMatchObject({ __verbose__: true })
  })
})

describe('with changes', () => {
  test('values replace the stored ones and are checked, and dependent values are computed again', async () => {
    covers('rule-11.changes', 'detail.relaunch-values', 'answer.422')
    const id = await launched('order', { name: 'web', count: 3 })
    const newId = await again(id, { values: { name: 'db' } })
    expect(await variablesOf(newId)).toMatchObject({ name: 'db', upper: 'DB', vm: { count: 3 } })
    expect(await refused(id, { values: { name: 'x', count: 'many' } })).toMatchObject({
      code: 'values_refused',
      details: { invalid: ['name', 'count'] },
    })
    expect(await refused(id, { values: { name: null } })).toMatchObject({ details: { missing: ['name'] } })
  })

  test('a relaunch of a relaunch uses the values of that relaunch', async () => {
    const first = await launched('order', { name: 'web', count: 3 })
    const second = await again(first, { values: { count: 4 } })
    const third = await again(second, { values: { name: 'db' } })
    expect(await variablesOf(third)).toMatchObject({ name: 'db', vm: { count: 4 } })
  })

  test('a step of a wizard is changed field by field', async () => {
    covers('detail.relaunch-values')
    const id = await launched('steps', { why: 'x', net: { vlan: 7, host: 'a' } })
    expect(await read(id, '/rawformdata')).toEqual({ why: 'x', net: { vlan: 7, host: 'a' } })
    expect(await variablesOf(await again(id, { values: { net: { vlan: 8 } } }))).toMatchObject({
      why: 'x',
      network: { vlan: 8, host: 'a' },
    })
  })

  test('a required password must come in values, else 422 with missing', async () => {
    const id = await launched('locked', { pin: 'hidden-pin' })
    const body = await refused(id)
    expect(body).toMatchObject({
      code: 'values_refused',
      details: { missing: ['pin'], validationErrors: { pin: [{ type: 'required' }] } },
    })
    expect(JSON.stringify(body)).not.toContain('hidden-pin')
    expect(await variablesOf(await again(id, { values: { pin: 'another' } }))).toMatchObject({ pin: '********' })
  })

  test('a password of the job is asked for, also if it is optional: an empty value means no password', async () => {
    const id = await launched('order', { name: 'web', pin: 'hidden-pin' })
    expect(await refused(id)).toMatchObject({ details: { missing: ['pin'] } })
    expect(await refused(id, { values: { name: 'db' } })).toMatchObject({ details: { missing: ['pin'] } })
    expect(await variablesOf(await again(id, { values: { pin: '' } }))).not.toHaveProperty('vm.code', 'hidden-pin')
    const steps = await launched('steps', { net: { vlan: 1, pw: 'hidden-pin' } })
    expect(await refused(steps)).toMatchObject({ details: { missing: ['net.pw'] } })
    expect(await variablesOf(await again(steps, { values: { net: { pw: 'p' } } }))).toMatchObject({
      network: { vlan: 1, pw: '********' },
    })
  })

  test('rows that had passwords are asked for, also if they come back without them', async () => {
    const id = await launched('order', { name: 'web', friends: [{ who: 'Eve', code: 'hidden-code' }] })
    expect(await read(id, '/rawformdata')).toEqual({ name: 'web', friends: [{ who: 'Eve' }] })
    expect(await refused(id)).toMatchObject({ details: { missing: ['friends'] } })
    expect(await refused(id, { values: { friends: [{ who: 'Eve' }] } })).toMatchObject({
      details: { missing: ['friends'] },
    })
    const friends = [{ who: 'Eve', code: 'new-code' }]
    expect(await variablesOf(await again(id, { values: { friends } }))).toMatchObject({
      friends: [{ who: 'Eve', code: '********' }],
    })
  })
})

describe('rawformdata', () => {
  test('is a plain object with the field values of the launch, without passwords', async () => {
    covers('endpoint.rawformdata', 'detail.rawformdata')
    const id = await launched('order', { name: 'web', api_token: 'hidden-token', pin: 'hidden-pin' })
    const { status, text, body } = await server.call('GET', `/job/${id}/rawformdata`, { token: ann })
    expect([status, body]).toEqual([200, { name: 'web', api_token: 'hidden-token' }])
    expect(text).not.toContain('hidden-pin')
  })

  test('a field that has become a password meanwhile is left out', async () => {
    const form = (type: string) => JSON.stringify([ansible('turning', { fields: [{ name: 'word', type }] })])
    await server.writeForm('turning.yml', form('text'))
    const id = await launched('turning', { word: 'hidden-word' })
    await server.writeForm('turning.yml', form('password'))
    expect(await read(id, '/rawformdata')).toEqual({})
    expect(await refused(id)).toMatchObject({ details: { missing: ['word'] } })
  })
})

describe('masked values that are sent back', () => {
  test('are refused by the names of their fields, in rows too, and never become values', async () => {
    const friends = [{ who: 'Eve', their_token: 't-1' }]
    const id = await launched('order', { name: 'web', api_token: 'tok', friends })
    for (const values of [{ api_token: '********' }, { friends: [{ who: 'Eve', their_token: '********' }] }]) {
      const [name] = Object.keys(values)
      expect(await refused(id, { values })).toMatchObject({ details: { invalid: [name] } })
    }
    const shown = (await read(id, '/rawformdata')) as object
    expect(await variablesOf(await again(id, { values: { ...shown, name: 'db' } }))).toMatchObject({
      name: 'db',
      api_token: 'tok',
      friends,
    })
  })
})

describe('uploads', () => {
  test('of the old job are used again, also by a manager who does not own them, and by a relaunch of the relaunch', async () => {
    const key = await upload(server, 'a.pem', 'content', ann)
    const id = await launched('file', { title: 'x' }, { files: { key } })
    const second = await again(id, { values: { title: 'y' } }, max)
    expect(await variablesOf(second)).toMatchObject({ title: 'y', key })
    expect(await variablesOf(await again(second, undefined, max))).toMatchObject({ key })
    // The grant is for the uploads of that job only.
    const other = await upload(server, 'b.pem', 'content', ann)
    expect((await post(`/job/${id}/relaunch`, { files: { key: other } }, max)).body).toMatchObject({
      details: { validationErrors: { key: [{ type: 'required' }, { type: 'foreign' }] } },
    })
  })

  test('stay when the old job is deleted, because the new one has them', async () => {
    const key = await upload(server, 'a.pem', 'content', ann)
    const id = await launched('file', {}, { files: { key } })
    const second = await again(id)
    await server.call('DELETE', `/job/${id}`, { token: ann })
    await server.parts.uploads.sweeper.sweep()
    expect(await variablesOf(await again(second))).toMatchObject({ key })
  })

  test('can be replaced in files, or removed with null', async () => {
    const [key, cert, other] = await Promise.all(['a', 'b', 'c'].map((name) => upload(server, name, name, ann)))
    const id = await launched('file', {}, { files: { key, cert } })
    const variables = await variablesOf(await again(id, { files: { key: other, cert: null } }))
    expect(variables).toMatchObject({ key: other })
    expect(variables).not.toHaveProperty('cert')
    expect(await refused(id, { files: { key: null } })).toMatchObject({ details: { missing: ['key'] } })
  })

  test('that do not exist any more are 422 and name the field', async () => {
    const key = await upload(server, 'a.pem', 'content', ann)
    const id = await launched('file', {}, { files: { key } })
    rmSync(String(key.path))
    expect(await refused(id)).toMatchObject({
      details: {
        uploads: ['key'],
        validationErrors: { key: expect.arrayContaining([expect.objectContaining({ type: 'missing' })]) as unknown },
      },
    })
  })
})

test('the audit trail has the relaunch with both jobs, and refused ones', async () => {
  const id = await launched('order', { name: 'web' })
  const newId = await again(id)
  await refused(id, { values: { name: 'x' } })
  const { records } = (await server.call('GET', '/audit?records=2', { token: server.admin })).body as {
    records: object[]
  }
  expect(records).toMatchObject([
    { user: 'ann', action: 'job.relaunch', object: { kind: 'job', id: String(id), name: 'order' }, status: 422 },
    {
      user: 'ann',
      action: 'job.relaunch',
      object: { kind: 'job', id: String(id), name: `order (again as job ${newId})` },
      status: 200,
    },
  ])
})
