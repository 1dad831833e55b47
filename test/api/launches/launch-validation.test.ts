import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Product, startProduct } from '../../support/product.js'
import { type RestClient, signIn } from '../../support/rest.js'
import { waitFor } from '../../support/wait.js'
import { covers } from '../../interface/covers.js'

/** Launches over HTTP as they are by default: enforced. Without a runner each job fails at once, with its variables. */
let product: Product
let ann: RestClient
let logging: Product

const PASSWORD = 'a long enough password'
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops], options: {allowVerboseMode: false}}
  - {name: default, groups: []}
constants:
  REGION: {name: eu}
`
const ansible = (name: string, more: object) => ({
  name,
  type: 'ansible',
  roles: ['default'],
  playbook: 'x.yml',
  ...more,
})
const FORMS = [
  ansible('none', {}),
  ansible('person', {
    fields: [
      { name: 'name', required: true, minLength: 2, label: 'Name' },
      { name: 'age', type: 'number', model: 'person.age' },
      { name: 'kind', type: 'enum', values: ['a', 'b'], default: 'a' },
      { name: 'region', type: 'expression', runLocal: true, expression: "'$(REGION.name)-$(TOWN)'" },
      { name: 'pin', type: 'password' },
      { name: 'friends', type: 'list', subform: 'friend' },
    ],
    varsFiles: ['town.yml'],
  }),
  {
    name: 'friend',
    type: 'subform',
    fields: [
      { name: 'who', required: true },
      { name: 'code', type: 'password' },
    ],
  },
  ansible('static', {
    inventory: ['one', 'two'],
    tags: 'x',
    limit: 'web',
    userExtravars: 'username',
    fields: [{ name: '__limit__' }, { name: 'tag', model: '__tags__' }],
  }),
  ansible('verbose', { fields: [{ name: '__verbose__', type: 'checkbox' }] }),
  ansible('upload', { fields: [{ name: 'iso', type: 'file' }] }),
  ansible('secret', { credentials: { db: 'team' }, fields: [{ name: 'key', asCredential: true }] }),
  ansible('steps', {
    fields: [{ name: 'worked', type: 'credential', expression: "'out'" }],
    wizard: [{ name: 'login', subform: 'who logs in' }],
  }),
  { name: 'who logs in', type: 'subform', fields: [{ name: 'as', asCredential: true }] },
  ansible('slow', { fields: [{ name: 'f', type: 'expression', runLocal: true, expression: 'for (;;) {}' }] }),
  ansible('lax', { launchValidation: 'off', fields: [{ name: 'a', required: true }] }),
  ansible('strict', { launchValidation: 'enforce', fields: [{ name: 'a', required: true }] }),
]

const launch = (formName: string, body: object, by = product.admin) => by.request('POST', '/job', { formName, ...body })

/** Launches and reads the job. */
async function launched(formName: string, rawFormData: object, more: object = {}, by = product.admin) {
  const answer = await launch(formName, { rawFormData, ...more }, by)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return (await by.get(`/job/${(answer.body as { id: number }).id}`)) as {
    id: number
    extravars: Record<string, unknown>
  }
}

/** Launches, expects a refusal, and that no job was made. */
async function refused(formName: string, body: object, status = 422, by = product.admin) {
  const jobs = async () => (await product.admin.get<{ count: number }>('/job')).count
  const before = await jobs()
  const answer = await launch(formName, body, by)
  expect(answer.status, JSON.stringify(answer.body)).toBe(status)
  expect(await jobs()).toBe(before)
  return answer.body as { error: string; code: string; details: Record<string, unknown> }
}

const start = (mode: Record<string, string>) =>
  startProduct({
    withAgent: false,
    config: CONFIG,
    forms: { 'all.yml': JSON.stringify(FORMS) },
    controlPlane: mode,
    prepare: (folder) => {
      mkdirSync(join(folder, 'persistent', 'vars'))
      writeFileSync(join(folder, 'persistent', 'vars', 'town.yml'), 'TOWN: ghent\n')
      return Promise.resolve({ controlPlane: {}, agent: {} })
    },
  })

beforeAll(async () => {
  // What is not a mode means enforce.
  ;[product, logging] = await Promise.all([start({ LAUNCH_VALIDATION: '' }), start({ LAUNCH_VALIDATION: 'log' })])
  await product.admin.post('/user', { username: 'ann', password: PASSWORD, groups: ['ops'], enabled: true })
  ann = await signIn(product.address, 'ann', PASSWORD)
})

afterAll(() => Promise.all([product?.close(), logging?.close()]))

describe('enforce', () => {
  test('the extra variables are built by the server from rawFormData, whatever the client sends as extravars', async () => {
    covers('launch.rawformdata', 'rule-1.validation', 'validation.enforce')
    const { extravars } = await launched(
      'person',
      { name: 'Ada', age: '36', region: 'forged' },
      { extravars: { name: 'Eve', other: 1, ansibleforms_user: { username: 'root' } } },
    )
    expect(extravars).toMatchObject({ name: 'Ada', person: { age: 36 }, kind: 'a', region: 'eu-ghent' })
    expect(extravars).toMatchObject({ ansibleforms_user: { username: 'admin' }, __playbook__: 'x.yml' })
    for (const key of ['other', 'unknown', 'age']) expect(extravars).not.toHaveProperty(key)
  })

  test('refused values are 422 with every part of the details, and nothing is created', async () => {
    covers('validation.details', 'answer.422')
    const body = await refused('person', { rawFormData: { age: 'old', kind: 'z', friends: [{ who: 'x' }, {}] } })
    expect(body).toEqual({
      error: expect.stringContaining('missing: name') as string,
      code: 'values_refused',
      details: {
        missing: ['name'],
        invalid: ['age', 'kind', 'friends'],
        waiting: [],
        validationErrors: {
          name: [{ type: 'required', description: 'Name is required' }],
          age: [{ type: 'type', description: 'age must be a number' }],
          kind: [{ type: 'choice', description: 'kind: this choice is not among the options' }],
        },
        rowErrors: {
          friends: [
            {
              index: 1,
              missing: ['who'],
              validationErrors: { who: [{ type: 'required', description: 'who is required' }] },
            },
          ],
        },
        uploads: [],
      },
    })
  })

  test('a launch without rawFormData is 422; {} is enough for a form without fields', async () => {
    covers('validation.needs-data')
    expect(await refused('none', { extravars: { a: 1 } })).toMatchObject({
      code: 'raw_form_data_needed',
      details: { missing: [] },
    })
    expect(await refused('none', { rawFormData: null })).toMatchObject({ code: 'raw_form_data_needed' })
    expect((await launched('none', {})).extravars).toMatchObject({ __playbook__: 'x.yml' })
  })

  test('__verbose__ of the client counts, with allowVerboseMode; else 403, also for a field of that name', async () => {
    covers('rule-2.verbose', 'auth.verbose-launch', 'error.verbose')
    const extravars = { __verbose__: true, other: 1 }
    expect((await launched('none', {}, { extravars })).extravars).toMatchObject({ __verbose__: true })
    await refused('none', { rawFormData: {}, extravars }, 403, ann)
    await refused('verbose', { rawFormData: { __verbose__: true } }, 403, ann)
    expect((await launched('verbose', { __verbose__: true })).extravars).toMatchObject({ __verbose__: true })
    await refused('none', { rawFormData: {}, extravars: { __verbose__: 'yes' } }, 403, ann)
  })

  test('static properties set __<property>__ unless the values have it; undeclared reserved keys are dropped', async () => {
    covers('property.fill', 'property.user')
    const { extravars } = await launched('static', { __playbook__: 'other.yml' }, { extravars: { __check__: true } })
    expect(extravars).toMatchObject({
      __playbook__: 'x.yml',
      __inventory__: ['one', 'two'],
      __tags__: 'x',
      __limit__: 'web',
    })
    expect(extravars).not.toHaveProperty('__check__')
    expect(extravars.ansibleforms_user).toEqual({ username: 'admin' })
    expect((await launched('static', { __limit__: 'db', tag: 'y' })).extravars).toMatchObject({
      __limit__: 'db',
      __tags__: 'y',
    })
  })

  test('a field that names a credential has priority over credentials of the client, which count for the rest of the form', async () => {
    await product.admin.post('/credential', { name: 'prod', password: 'a secret word' })
    const credentials = { key: 'prod', db: 'prod' }
    const { id } = await launched('secret', { key: 'prod' }, { credentials })
    expect(await product.admin.get(`/job/${id}`)).toMatchObject({
      credentials: { db: 'prod', key: 'prod' },
      extravars: { __credentials__: { db: 'prod', key: 'prod' } },
    })
    const without = await launched('secret', {})
    expect((await product.admin.get(`/job/${without.id}`)).credentials).toEqual({ db: 'team' })
    expect(await refused('secret', { rawFormData: { key: ['prod'] } })).toMatchObject({ details: { invalid: ['key'] } })
  })

  test('a field of a wizard step and one of type credential choose one, too', async () => {
    const { id } = await launched('steps', { login: { as: 'prod' } })
    expect((await product.admin.get(`/job/${id}`)).credentials).toEqual({ as: 'prod', worked: 'out' })
  })

  test('passwords are masked on read, in rows too, also when the form is gone', async () => {
    covers('detail.masked')
    const { id } = await launched('person', { name: 'Ada', pin: '1234', friends: [{ who: 'Eve', code: '999' }] })
    const masked = { pin: '********', friends: [{ who: 'Eve', code: '********' }] }
    expect(await product.admin.get(`/job/${id}`)).toMatchObject({ extravars: masked })
    const path = join(product.folder, 'persistent', 'forms', 'all.yml')
    const forms = readFileSync(path, 'utf8')
    writeFileSync(path, '[]')
    await waitFor(
      'the forms to be gone',
      async () => (await product.admin.get<{ count: number }>('/forms')).count === 0,
    )
    expect(await product.admin.get(`/job/${id}`)).toMatchObject({ extravars: masked })
    writeFileSync(path, forms)
    await waitFor('the forms', async () => (await product.admin.get<{ count: number }>('/forms')).count > 0)
  })

  test('launchValidation of a form only makes it stricter', async () => {
    covers('validation.stricter')
    expect(await refused('lax', { rawFormData: {} })).toMatchObject({ details: { missing: ['a'] } })
  })

  test('an endless expression is refused as waiting, and other requests are answered meanwhile', async () => {
    const slow = Array.from({ length: 4 }, () => launch('slow', { rawFormData: {} }))
    expect((await launch('none', { rawFormData: {} }, ann)).status).toBe(200)
    for (const answer of await Promise.all(slow)) {
      expect(answer.status).toBe(422)
      expect(answer.body).toMatchObject({ details: { waiting: ['f'] } })
    }
  })
})

describe('log', () => {
  test('the extravars of the client are used; refused or different names are logged, without values', async () => {
    covers('validation.log')
    const by = logging.admin
    const extravars = { name: 'as-sent', person: { age: 1 }, __limit__: 'dropped' }
    const { id } = await by.post<{ id: number }>('/job', {
      formName: 'person',
      extravars,
      rawFormData: { name: 'X9secret9' },
    })
    expect(await by.get(`/job/${id}`)).toMatchObject({ extravars: { name: 'as-sent', person: { age: 1 } } })
    await by.post('/job', {
      formName: 'person',
      extravars: {},
      rawFormData: { name: 'Z', age: 'value-of-age', friends: [{}] },
    })
    await by.post('/job', { formName: 'person', extravars: {} })
    const log = logging.controlPlane.said()
    expect(log).toContain('"differing":["name","kind","region","person"]')
    expect(log).toContain('"refused":["name (minLength)","age (type)","friends[0].who (required)"]')
    expect(log).toContain('no rawFormData')
    for (const value of ['as-sent', 'X9secret9', 'value-of-age']) expect(log).not.toContain(value)
  })

  test('the credentials of the client are used; the log says which would differ, without their names', async () => {
    const by = logging.admin
    const credentials = { db: 'sent-db', key: 'sent-key', left: null }
    const { id } = await by.post<{ id: number }>('/job', {
      formName: 'secret',
      extravars: { key: 'same' },
      rawFormData: { key: 'same' },
      credentials,
    })
    expect((await by.get(`/job/${id}`)).credentials).toEqual({ db: 'sent-db', key: 'sent-key' })
    expect(logging.controlPlane.said()).toContain('"differing":["credentials.key","credentials.db"]')
    expect(logging.controlPlane.said()).not.toContain('sent-key')
  })

  test('a credential for which the form takes none is refused, because the job would run without it', async () => {
    const sent = (credentials: object) =>
      launch('secret', { extravars: {}, rawFormData: {}, credentials }, logging.admin)
    const { status, body } = await sent({ dbb: 'team' })
    expect(status).toBe(422)
    expect(body).toMatchObject({ code: 'credentials_refused', details: { invalid: ['credentials.dbb'] } })
    expect((body as { error: string }).error).toContain('did you mean db?')
    expect((await sent({ db: 'team', key: 'team', dbb: '' })).status).toBe(200)
  })

  test('a form may be stricter, but not laxer', async () => {
    covers('validation.stricter')
    const by = logging.admin
    expect((await launch('strict', { extravars: { a: 1 } }, by)).status).toBe(422)
    expect((await launch('lax', { extravars: { a: 1 } }, by)).status).toBe(200)
    expect(logging.controlPlane.said()).toContain('"form":"lax"')
  })
})
