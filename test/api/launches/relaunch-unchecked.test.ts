import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type TestServer, startServer } from '../server.js'

/** What a job runs with when it is run again, where launches are not checked (LAUNCH_VALIDATION=off). */
let server: TestServer

const ansible = (name: string, more: object) => ({ name, playbook: 'p.yml', roles: ['default'], ...more })
const FORMS = [
  ansible('order', {
    tags: 'of-the-form',
    credentials: { db: 'team' },
    fields: [
      { name: 'name', minLength: 2 },
      { name: 'count', type: 'number', model: 'vm.count' },
      { name: 'upper', type: 'expression', runLocal: true, expression: "'$(name)'.toUpperCase()" },
      { name: 'pin', type: 'password' },
      { name: '__limit__' },
    ],
  }),
  ansible('strict', { launchValidation: 'enforce', fields: [{ name: 'name', required: true }] }),
]

beforeAll(async () => {
  server = await startServer({ forms: { 'all.yml': JSON.stringify(FORMS) }, settings: { LAUNCH_VALIDATION: 'off' } })
})
afterAll(() => server.close())

const post = (path: string, json?: unknown) => server.call('POST', path, { token: server.admin, json })

async function launched(body: object, formName = 'order'): Promise<number> {
  const answer = await post('/job', { formName, ...body })
  expect(answer.status, answer.text).toBe(200)
  return Number(answer.body.id)
}

/** Runs a job again and gives the variables and credentials of the new one. */
async function again(id: number, values?: object, query = '') {
  const answer = await post(`/job/${id}/relaunch${query}`, values && { values })
  expect(answer.status, answer.text).toBe(200)
  const query2 = server.store.read.selectFrom('job').select(['extravars', 'credentials', 'raw_form_data'])
  const row = await query2.where('id', '=', Number(answer.body.id)).executeTakeFirstOrThrow()
  const { ansibleforms_user: _, ...variables } = JSON.parse(row.extravars) as Record<string, unknown>
  return { variables, credentials: JSON.parse(row.credentials) as unknown, kept: row.raw_form_data }
}

test('a launch with a credential for which the form takes none is refused, because the job would run without it', async () => {
  const { status, body } = await post('/job', { formName: 'order', extravars: {}, credentials: { dbb: 'team' } })
  expect(status).toBe(422)
  expect(body).toMatchObject({ code: 'credentials_refused', details: { invalid: ['credentials.dbb'] } })
})

describe('a job that was launched with variables only', () => {
  const extravars = {
    name: 'x',
    vm: { count: 'unchecked' },
    pin: 'hidden-pin',
    more: 1,
    __limit__: 'web',
    __check__: true,
    __verbose__: true,
  }

  test('runs with the same variables, also those that are not fields; reserved keys and verbose are set again', async () => {
    covers('rule-11.changes')
    const { pin: _, ...withoutPin } = extravars
    const id = await launched({ extravars: withoutPin, credentials: { db: 'sent' } })
    const { variables, credentials, kept } = await again(id)
    expect(variables).toEqual({
      name: 'x',
      vm: { count: 'unchecked' },
      more: 1,
      __limit__: 'web',
      __playbook__: 'p.yml',
      __tags__: 'of-the-form',
      __credentials__: { db: 'sent' },
    })
    expect(credentials).toEqual({ db: 'sent' })
    expect(kept).toBeNull()
    expect((await again(id, undefined, '?verbose=true')).variables).toMatchObject({ __verbose__: true })
  })

  test('asks for its password, and for values that contained it, because passwords are removed at the end of a job', async () => {
    const id = await launched({ extravars: { ...extravars, address: 'db://x:hidden-pin@db' } })
    const refused = await post(`/job/${id}/relaunch`)
    expect([refused.status, refused.body.details]).toMatchObject([422, { missing: ['pin', 'address'] }])
    expect((await again(id, { pin: '', address: 'db://db' })).variables).toMatchObject({ pin: '', address: 'db://db' })
  })

  test('gets changes over its variables; a mask that is sent back is refused', async () => {
    covers('rule-11.changes')
    const id = await launched({ extravars })
    const masked = await post(`/job/${id}/relaunch`, { values: { name: 'y', pin: '********' } })
    expect([masked.status, masked.body.details]).toMatchObject([422, { invalid: ['pin'] }])
    const { variables } = await again(id, { name: 'y', pin: 'n-e-w', more: 2, __check__: true, __verbose__: true })
    expect(variables).toMatchObject({ name: 'y', pin: '********', more: 2, vm: { count: 'unchecked' } })
    expect(variables).not.toHaveProperty('__check__')
    expect(variables).not.toHaveProperty('__verbose__')
  })

  test('has no field values: rawformdata is 404', async () => {
    covers('detail.rawformdata', 'answer.404')
    const id = await launched({ extravars })
    const answer = await server.call('GET', `/job/${id}/rawformdata`, { token: server.admin })
    expect([answer.status, answer.body.code]).toEqual([404, 'no_field_values'])
  })

  test('is 422 where launches are checked now, unless all values come with the relaunch', async () => {
    await server.writeForm('tightened.yml', JSON.stringify([ansible('tightened', { fields: [{ name: 'name' }] })]))
    const id = await launched({ extravars: { name: 'x' } }, 'tightened')
    const tight = { launchValidation: 'enforce', fields: [{ name: 'name', required: true }] }
    await server.writeForm('tightened.yml', JSON.stringify([ansible('tightened', tight)]))
    const refused = await post(`/job/${id}/relaunch`)
    expect([refused.status, refused.body.code]).toEqual([422, 'raw_form_data_needed'])
    expect((await again(id, { name: 'y' })).variables).toMatchObject({ name: 'y' })
  })
})

describe('a job that was launched with field values too', () => {
  const rawFormData = { name: 'web', count: 3 }
  const extravars = { name: 'web', vm: { count: 3 }, upper: 'WEB', beyond: { a: 1 }, other: 'o' }

  test('without changes runs with its variables, whatever its field values are', async () => {
    const id = await launched({ rawFormData, extravars: { ...extravars, name: 'y' } })
    const { variables, kept } = await again(id)
    expect(variables).toMatchObject({ ...extravars, name: 'y' })
    expect(JSON.parse(kept ?? '')).toEqual(rawFormData)
  })

  test('with changes is built again from its field values and checked; variables without a field stay', async () => {
    const id = await launched({ rawFormData, extravars, credentials: { db: 'sent' } })
    const { variables, credentials } = await again(id, { name: 'db', other: 'p' })
    expect(variables).toMatchObject({ name: 'db', upper: 'DB', vm: { count: 3 }, beyond: { a: 1 }, other: 'p' })
    expect(credentials).toEqual({ db: 'sent' })
    const refused = await post(`/job/${id}/relaunch`, { values: { name: 'x' } })
    expect([refused.status, refused.body.details]).toMatchObject([422, { invalid: ['name'] }])
  })

  test('without changes asks for its password, and for a variable beyond its fields that contained it', async () => {
    const id = await launched({
      rawFormData: { ...rawFormData, pin: 'hidden-pin' },
      extravars: { ...extravars, name: 'x hidden-pin', pin: 'hidden-pin', other: 'db://hidden-pin' },
    })
    const refused = await post(`/job/${id}/relaunch`)
    // The value of the field is computed again from the password, so nobody has to send it.
    expect([refused.status, refused.body.details]).toMatchObject([422, { missing: ['pin', 'other'] }])
  })

  test('without changes asks for the variable of a field that contained a password, if the password was no variable', async () => {
    const id = await launched({
      rawFormData: { ...rawFormData, pin: 'hidden-pin' },
      extravars: { name: 'x hidden-pin' },
    })
    const refused = await post(`/job/${id}/relaunch`)
    expect([refused.status, refused.body.details]).toMatchObject([422, { missing: ['name'] }])
  })

  test('with changes asks for its password, because it was not stored as a field value', async () => {
    const id = await launched({
      rawFormData: { ...rawFormData, pin: 'p' },
      extravars: { ...extravars, pin: 'hidden-pin' },
    })
    const refused = await post(`/job/${id}/relaunch`, { values: { name: 'db' } })
    expect([refused.status, refused.body.details]).toMatchObject([422, { missing: ['pin'] }])
    expect((await again(id, { name: 'db', pin: 'new' })).variables).toMatchObject({ name: 'db', pin: '********' })
  })

  test('of a form that asks for checks is checked like any launch of it', async () => {
    const id = await launched({ rawFormData: { name: 'a' } }, 'strict')
    expect((await again(id, { name: 'b' })).variables).toMatchObject({ name: 'b' })
    expect((await post(`/job/${id}/relaunch`, { values: { name: '' } })).status).toBe(422)
  })
})
