import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findJobSecrets } from '../../control-plane/src/store/jobs/job-secrets.js'
import { addRunner } from '../api/runner-row.js'
import { type TestServer, startServer } from '../api/server.js'
import { secretsIn } from '../support/secret-search.js'

/** What people type into password fields, and who may see it. */
const SECRETS = { pin: 'correct"horse-4711', row: 'battery staple 0815' }

const expression = (name: string, text: string) => ({ name, type: 'expression', runLocal: true, expression: text })
const FORM = {
  name: 'order',
  playbook: 'p.yml',
  roles: ['default'],
  runner: 'here',
  launchValidation: 'enforce',
  fields: [
    { name: 'host' },
    { name: 'pin', type: 'password', model: 'vm.pw' },
    expression('address', "'db://u:$(pin)@' + '$(host)'"),
    expression('encoded', "encodeURIComponent('$(pin)')"),
    { name: 'friends', type: 'list', subform: 'friend' },
    expression('first', "$(friends)[0]['code']"),
    { name: 'api_token' },
    { name: 'tokenizer' },
    { name: 'token_count', type: 'number' },
    { name: '__limit__' },
  ],
}
const FRIEND = {
  name: 'friend',
  type: 'subform',
  roles: ['default'],
  fields: [{ name: 'who' }, { name: 'code', type: 'password' }],
}
const WAITING = {
  ...FORM,
  name: 'waiting',
  approval: { title: 'To $(address)', message: 'With $(vm.pw), $(encoded) and $(first)', roles: ['default'] },
}
const OPEN = {
  name: 'open',
  playbook: 'p.yml',
  roles: ['default'],
  launchValidation: 'off',
  fields: [{ name: 'note' }],
}

let server: TestServer

beforeAll(async () => {
  const forms = { 'all.yml': JSON.stringify([FORM, FRIEND, WAITING, OPEN]) }
  server = await startServer({ forms, settings: { LAUNCH_VALIDATION: 'log' } })
  await addRunner(server, 'here')
})
afterAll(() => server.close())

const post = (path: string, json: object) => server.call('POST', path, { token: server.admin, json })
const get = (path: string) => server.call('GET', path, { token: server.admin })

const VALUES = {
  host: 'web',
  pin: SECRETS.pin,
  api_token: 'shown-to-whom-it-belongs',
  tokenizer: 'bpe',
  token_count: 3,
  friends: [{ who: 'Eve', code: SECRETS.row }],
}

async function launched(formName: string): Promise<number> {
  const { body, text } = await post('/job', { formName, rawFormData: VALUES })
  expect(body.id, text).toEqual(expect.any(Number))
  return Number(body.id)
}

/** Every row of every table that tells of jobs. */
async function everyRow(): Promise<string> {
  const { read } = server.store
  const rows = [
    await read.selectFrom('job').selectAll().execute(),
    await read.selectFrom('job_secret').selectAll().execute(),
    (await read.selectFrom('job_output').select('data').execute()).map(({ data }) => data.toString()),
    await read.selectFrom('audit').selectAll().execute(),
  ]
  return JSON.stringify(rows)
}

describe('the values of password fields', () => {
  test('are in no answer and in no row, in whatever they were put', async () => {
    const id = await launched('order')
    for (const path of [`/job/${id}`, `/job/${id}?text=true`, `/job/${id}/rawformdata`, '/job', '/audit']) {
      expect([path, secretsIn((await get(path)).text, SECRETS)]).toEqual([path, []])
    }
    expect(secretsIn(await everyRow(), SECRETS)).toEqual([])
    const { extravars } = (await get(`/job/${id}`)).body
    const mask = '********'
    expect(extravars).toMatchObject({ host: 'web', vm: { pw: mask }, address: mask, encoded: mask, first: mask })
    expect(extravars).toMatchObject({ friends: [{ who: 'Eve', code: mask }] })
  })

  test('are masked in parts, too: what is inside of a password that is an address', async () => {
    const inside = { password: 'in+side-4711' }
    const pin = `postgres://production:${encodeURIComponent(inside.password)}@db/x`
    const rawFormData = { ...VALUES, pin, host: inside.password, tokenizer: 'production' }
    for (const formName of ['order', 'waiting']) {
      const { body, text } = await post('/job', { formName, rawFormData })
      expect(body.id, text).toEqual(expect.any(Number))
      for (const path of [`/job/${String(body.id)}`, `/job/${String(body.id)}?text=true`, '/job', '/audit']) {
        expect([path, secretsIn((await get(path)).text, inside)]).toEqual([path, []])
      }
      const { extravars } = (await get(`/job/${String(body.id)}`)).body
      expect(extravars).toMatchObject({ host: '********', tokenizer: 'production' })
    }
    expect(secretsIn(await everyRow(), inside)).toEqual([])
  })

  test('are in no approval: neither in its texts, nor in the output that tells of it', async () => {
    const id = await launched('waiting')
    const job = await get(`/job/${id}?text=true`)
    expect(job.body).toMatchObject({
      status: 'approve',
      approval: { title: 'To ********', message: 'With ********, ******** and ********' },
    })
    expect(secretsIn(job.text + (await everyRow()), SECRETS)).toEqual([])
  })

  test('rest encrypted for their run, and are gone with the end of the job', async () => {
    const id = await launched('waiting')
    const [row] = await server.store.read.selectFrom('job').select('run_id').where('id', '=', id).execute()
    const kept = (await findJobSecrets(server.store.read, [id])).get(id)
    const values = kept && server.parts.credentials.vault.open(row?.run_id ?? '', kept.sealed)
    expect(values?.variables).toMatchObject({ vm: { pw: SECRETS.pin }, address: `db://u:${SECRETS.pin}@web` })
    expect(values?.hidden).toEqual(expect.arrayContaining(Object.values(SECRETS)))
    expect(() => server.parts.credentials.vault.open('0'.repeat(32), kept?.sealed ?? Buffer.alloc(0))).toThrow()
    await post(`/job/${id}/reject`, {})
    expect(await findJobSecrets(server.store.read, [id])).toEqual(new Map())
  })

  test('are not taken for an argument of a command line, which every user of the host can read', async () => {
    const rawFormData = { ...VALUES, pin: 'plain-4711', __limit__: 'web:plain-4711' }
    const { status, text, body } = await post('/job', { formName: 'order', rawFormData })
    expect([status, body.details]).toMatchObject([422, { invalid: ['__limit__'] }])
    expect(text).not.toContain('plain-4711')
  })
})

describe('hiding by names', () => {
  test('hides texts only: neither switches, numbers nor words that only begin so', async () => {
    const id = await launched('order')
    const { extravars } = (await get(`/job/${id}`)).body as { extravars: Record<string, unknown> }
    expect(extravars).toMatchObject({ api_token: '********', tokenizer: 'bpe', token_count: 3 })
    expect(extravars.ansibleforms_user).toMatchObject({ options: { allowApiTokens: true } })
  })

  test('of real secrets goes on, however they are written', async () => {
    const secret = {
      db_password: 'a',
      PASSWORD: 'b',
      accessToken: 'c',
      secret_key: 'd',
      API_TOKENS: ['e'],
      secrets: { x: 'f' },
    }
    const { body } = await post('/job', { formName: 'open', extravars: secret })
    expect((await get(`/job/${Number(body.id)}`)).body.extravars).toMatchObject({
      db_password: '********',
      PASSWORD: '********',
      accessToken: '********',
      secret_key: '********',
      API_TOKENS: ['********'],
      secrets: { x: '********' },
    })
  })
})

describe('a mask that is sent back', () => {
  test.each([
    ['a password', { pin: '********' }, 'pin'],
    ['a field that is hidden by its name', { api_token: '********' }, 'api_token'],
    ['a password of a row', { friends: [{ who: 'Eve', code: '********' }] }, 'friends'],
    ['a value that may have held a password', { host: '********' }, 'host'],
  ])('for %s is refused by the name of the field', async (_, change, field) => {
    const { status, body } = await post('/job', { formName: 'order', rawFormData: { ...VALUES, ...change } })
    expect([status, body.code]).toEqual([422, 'values_refused'])
    expect(body.details).toMatchObject({ invalid: [field], validationErrors: { [field]: [{ type: 'masked' }] } })
  })

  test('is refused among variables, too, and at a relaunch', async () => {
    const refused = await post('/job', { formName: 'open', extravars: { part: { db_password: '********' } } })
    expect([refused.status, refused.body.details]).toMatchObject([422, { invalid: ['part'] }])
    const { body } = await post('/job', { formName: 'open', extravars: { my_token: 't' } })
    const again = await post(`/job/${Number(body.id)}/relaunch`, { values: { my_token: '********' } })
    expect([again.status, again.body.details]).toMatchObject([422, { invalid: ['my_token'] }])
  })

  test('is a value like others where nothing can have been hidden', async () => {
    const rawFormData = { note: '********' }
    const { status, body } = await post('/job', { formName: 'open', rawFormData, extravars: rawFormData })
    expect(status).toBe(200)
    expect((await get(`/job/${Number(body.id)}`)).body.extravars).toMatchObject({ note: '********' })
  })
})
