import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLockExpiry } from '../../../control-plane/src/forms/designer-lock.js'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'
import { putJob } from '../job-rows.js'
import { ADMIN_PASSWORD, type TestServer, startServer } from '../server.js'

/** Words of the interface, with the settings that the product has by itself. */
const CONFIG = `
roles:
  - name: admin
    groups: [local/admins]
  - name: default
    groups: []
    options: {allowJobRelaunch: true, allowVerboseMode: false}
  - name: scripts
    users: [local/script]
    options: {allowApiTokens: true, allowVerboseMode: false}
  - name: limited
    users: [local/limited]
    credentials: ['main.*']
`

const FORMS = `
- name: Order
  type: ansible
  roles: [default]
  playbook: order.yml
  credentials: {db: main}
  fields:
    - {name: size, type: number}
    - {name: colour, type: text}
    - {name: pin, type: password}
    - {name: inside, type: text, dependencies: [{name: size, values: [1]}]}
- name: Asked
  type: ansible
  roles: [default]
  playbook: order.yml
  approval: {message: ok?, roles: [admin]}
- name: Written
  type: ansible
  roles: [default]
  playbook: order.yml
  fields: [{name: written, type: local_out, expression: '(1234.5).toLocaleString()'}]
`

const FORM_KIND = { 'content-type': 'application/x-www-form-urlencoded' }

let server: TestServer
/** With other settings. */
let lax: TestServer
const tokens: Record<string, string> = {}
beforeAll(async () => {
  const settings = { LAUNCH_UNKNOWN_FIELDS: 'warn', FORMS_LOCALE: 'de-DE' }
  server = await startServer({ config: CONFIG, forms: { 'all.yml': FORMS } })
  lax = await startServer({ config: CONFIG, forms: { 'all.yml': FORMS }, settings })
  for (const name of ['ann', 'bob', 'script', 'limited']) tokens[name] = (await server.addUser(name)).token
  for (const name of ['main', 'main2', 'other']) {
    await server.call('POST', '/credential', { token: server.admin, json: { name, password: 'a secret word' } })
  }
})
afterAll(() => Promise.all([server.close(), lax.close()]))

const call = (who: string, method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: tokens[who] ?? server.admin, ...(json === undefined ? {} : { json }) })
const launch = (who: string, more: object) => call(who, 'POST', '/job', { formName: 'Order', rawFormData: {}, ...more })
const jobOf = async (id: unknown) => (await call('admin', 'GET', `/job/${Number(id)}`)).body

describe('credentials of a launch', () => {
  test('one that the client names replaces that of the form', async () => {
    covers('launch.credentials')
    const { status, body } = await launch('ann', { credentials: { db: 'other' } })
    expect(status).toBe(200)
    expect((await jobOf(body.id)).credentials).toEqual({ db: 'other' })
    expect((await jobOf((await launch('ann', {})).body.id)).credentials).toEqual({ db: 'main' })
  })

  test('one that the roles do not allow is 403, an unknown variable or credential 422', async () => {
    covers('launch.credentials')
    expect((await launch('limited', { credentials: { db: 'main2' } })).status).toBe(200)
    expect((await launch('limited', { credentials: { db: 'other' } })).status).toBe(403)
    expect((await launch('limited', { credentials: { db: 'nobody' } })).status).toBe(403)
    expect((await launch('ann', { credentials: { dbb: 'other' } })).body.error).toContain('did you mean db?')
    for (const credentials of [{ dbb: 'other' }, { db: 'nobody' }, { db: 7 }]) {
      expect((await launch('ann', { credentials })).status).toBe(422)
    }
  })
})

describe('rawformdata', () => {
  test('has all values of the launch except passwords, also those of fields that were not shown', async () => {
    covers('endpoint.rawformdata')
    const rawFormData = { size: 2, colour: '', pin: 'hush hush', inside: 'not shown', __page__: { tab: 3 } }
    const { body } = await launch('ann', { rawFormData })
    const { pin: _, ...kept } = rawFormData
    await putEnd(Number(body.id))
    expect((await call('ann', 'GET', `/job/${Number(body.id)}/rawformdata`)).body).toEqual(kept)
  })
})

describe('values that belong to no field', () => {
  test('are refused with the name that was probably meant, and no job is made', async () => {
    covers('launch.unknown-fields')
    const before = (await call('ann', 'GET', '/job')).body.count
    const { status, body } = await launch('ann', { rawFormData: { colur: 'red', siez: 1, else: 1 } })
    expect(status).toBe(422)
    expect(body).toMatchObject({ details: { invalid: ['colur', 'siez', 'else'] } })
    const { validationErrors } = body.details as { validationErrors: Record<string, { description: string }[]> }
    expect(validationErrors.colur?.[0]?.description).toContain('did you mean colour?')
    expect(validationErrors.siez?.[0]?.description).toContain('did you mean size?')
    expect(validationErrors.else?.[0]?.description).toBe('there is no field else')
    expect((await call('ann', 'GET', '/job')).body.count).toBe(before)
  })

  test('are refused at a relaunch, too', async () => {
    covers('launch.unknown-fields')
    const { body } = await launch('ann', { rawFormData: { size: 2 } })
    await putEnd(Number(body.id))
    const again = (values: object) => call('ann', 'POST', `/job/${Number(body.id)}/relaunch`, { values })
    expect((await again({ siez: 3 })).status).toBe(422)
    expect((await again({ size: 3 })).status).toBe(200)
  })

  test('are named in the answer if they are not refused', async () => {
    covers('launch.unknown-fields')
    const json = { formName: 'Order', rawFormData: { colur: 'red' } }
    const answer = await lax.call('POST', '/job', { token: lax.admin, json })
    expect(answer).toMatchObject({ status: 200, body: { unknown_fields: ['colur'] } })
  })
})

test('scripts of forms write numbers as FORMS_LOCALE says', async () => {
  covers('field.locale')
  const json = { formName: 'Written', rawFormData: {} }
  const { body } = await lax.call('POST', '/job', { token: lax.admin, json })
  const job = await lax.call('GET', `/job/${Number(body.id)}`, { token: lax.admin })
  expect(job.body.extravars).toMatchObject({ written: '1.234,5' })
})

describe('missing and given values', () => {
  test('null for an optional object counts as missing', async () => {
    covers('launch.null')
    const nothing = { extravars: null, payload: null, credentials: null, files: null }
    expect((await launch('ann', nothing)).status).toBe(200)
    const json = { formName: 'Order', rawFormData: null }
    expect((await call('ann', 'POST', '/job', json)).body.code).toBe('raw_form_data_needed')
  })

  test('every true value of __verbose__ counts as true', async () => {
    covers('launch.verbose')
    for (const __verbose__ of [true, 'true', 1]) {
      expect((await launch('ann', { extravars: { __verbose__ } })).status).toBe(403)
      const { body } = await launch('admin', { extravars: { __verbose__ } })
      expect((await jobOf(body.id)).extravars).toMatchObject({ __verbose__: true })
    }
    for (const __verbose__ of [false, 0, '', null]) {
      expect((await launch('ann', { extravars: { __verbose__ } })).status).toBe(200)
    }
  })
})

describe('the state of a job is checked before its owner', () => {
  test('an action that the state does not allow is 409, also for a caller’s own job and for a job without an approval', async () => {
    covers('state.first')
    const running = Number((await launch('ann', {})).body.id)
    await server.store.write('test.run', (queries) =>
      queries.updateTable('job').set({ status: 'running', end_time: null }).where('id', '=', running).execute(),
    )
    // The own one; whoever may not see a job does not hear how it stands.
    for (const action of ['approve', 'reject', 'relaunch']) {
      const path = `/job/${running}/${action}`
      expect([action, (await call('ann', 'POST', path)).status]).toEqual([action, 409])
      expect([action, (await call('bob', 'POST', path)).status]).toEqual([action, 403])
    }
    expect((await call('ann', 'DELETE', `/job/${running}`)).status).toBe(409)
    const ended = await putJob(server, { form: 'Order' })
    for (const action of ['abort', 'approve', 'reject']) {
      expect([action, (await call('ann', 'POST', `/job/${ended}/${action}`)).status]).toEqual([action, 409])
    }
    const waiting = Number((await call('ann', 'POST', '/job', { formName: 'Asked', rawFormData: {} })).body.id)
    // The roles of this form’s runner do not matter: what waits can be neither aborted nor deleted nor run again.
    const { status } = await jobOf(waiting)
    if (status === 'approve') {
      for (const action of ['abort', 'relaunch']) {
        expect([action, (await call('ann', 'POST', `/job/${waiting}/${action}`)).status]).toEqual([action, 409])
      }
      expect((await call('ann', 'POST', `/job/${waiting}/approve`)).status).toBe(403)
    }
  })

  test('a child job is deleted with its parent job only', async () => {
    covers('delete.part')
    const whole = await putJob(server, { job_type: 'workflow' })
    const part = await putJob(server, { parent_id: whole })
    expect(await call('ann', 'DELETE', `/job/${part}`)).toMatchObject({ status: 409, body: { code: 'part_of_a_job' } })
    expect((await call('ann', 'DELETE', `/job/${whole}`)).status).toBe(200)
    expect((await call('ann', 'GET', `/job/${part}`)).status).toBe(404)
  })
})

describe('paths, methods and bodies', () => {
  test('an id beyond the type of numbers is 404 and named as it was sent', async () => {
    covers('answer.404')
    const id = '123456789012345678901234567890'
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/events'],
      ['POST', '/abort'],
      ['DELETE', ''],
    ] as const) {
      const { status, body } = await call('ann', method, `/job/${id}${path}`)
      expect(status).toBe(404)
      expect(body.error).toContain(id)
    }
  })

  test('the wrong method of a known path is 405 and names the right ones; OPTIONS names them, too', async () => {
    covers('answer.405')
    const wrong = await call('ann', 'PUT', '/job/1/abort')
    expect([wrong.status, wrong.body.code, wrong.headers.get('allow')]).toEqual([
      405,
      'method_not_allowed',
      'POST, OPTIONS',
    ])
    const asked = await server.call('OPTIONS', '/job/1')
    expect([asked.status, asked.headers.get('allow')]).toEqual([204, 'DELETE, GET, HEAD, OPTIONS'])
    expect((await server.call('OPTIONS', '/nothing/here')).status).toBe(404)
    expect((await call('ann', 'PATCH', '/nothing/here')).status).toBe(404)
  })

  test('bodies of curl -d are accepted: JSON with the content type of a form, on routes with and without a body', async () => {
    covers('answer.forms')
    const curl = (method: string, path: string, body: string) =>
      server.call(method, path, { token: tokens.ann ?? '', body, headers: FORM_KIND })
    const body = JSON.stringify({ formName: 'Order', rawFormData: { colour: 'a&b=c' } })
    const launched = await curl('POST', '/job', body)
    expect(launched.status).toBe(200)
    expect((await jobOf(launched.body.id)).extravars).toMatchObject({ colour: 'a&b=c' })
    const id = await putJob(server, { form: 'Order', raw_form_data: '{}' })
    expect((await curl('POST', `/job/${id}/abort`, '{}')).status).toBe(409)
    expect((await curl('POST', `/job/${id}/relaunch`, '{}')).status).toBe(200)
    expect((await curl('POST', '/job', 'formName=Order')).status).toBe(422)
    expect((await curl('POST', '/job', '{"formName"')).status).toBe(400)
    expect((await curl('POST', '/job', 'x=1&'.repeat(1001))).status).toBe(413)
  })

  test('curl -u user:password -d expiryDays=90 signs in, and gives an API token to users who may have one', async () => {
    covers('sign-in.long')
    const signIn = async (name: string, more: { body?: string; query?: string }) => {
      const authorization = `Basic ${Buffer.from(`${name}:${ADMIN_PASSWORD}`).toString('base64')}`
      const headers = { ...FORM_KIND, authorization }
      const { status, body } = await server.call('POST', `/auth/login${more.query ?? ''}`, {
        headers,
        body: more.body ?? '',
      })
      expect([status, typeof body.refreshtoken]).toEqual([200, 'string'])
      return String(body.token)
    }
    for (const how of [
      { body: 'expiryDays=90' },
      { query: '?expiryDays=7&name=nightly' },
      { body: 'expiryDays=9999' },
    ]) {
      const long = await signIn('script', how)
      expect(long).toMatch(/^hfat_/)
      expect((await server.call('GET', '/profile', { token: long })).body.username).toBe('script')
      expect(await signIn('ann', how)).not.toMatch(/^hfat_/)
    }
    expect(await signIn('script', { body: 'expiryDays=soon' })).not.toMatch(/^hfat_/)
    const { records } = (await call('script', 'GET', '/profile/tokens')).body as { records: { name: string | null }[] }
    expect(
      records
        .map(({ name }) => name ?? '')
        .sort()
        .reverse(),
    ).toEqual(['nightly', '', ''])
  })

  test('a valid token of a user who may not see the metrics is 403', async () => {
    covers('endpoint.metrics')
    expect((await call('ann', 'GET', '/metrics')).status).toBe(403)
    expect((await server.call('GET', '/metrics', { token: 'hfat_ab.cd' })).status).toBe(401)
    expect((await call('admin', 'GET', '/metrics')).status).toBe(200)
  })
})

test('the list by runner has the jobs that ran there, also child jobs, and none that only waited for it', async () => {
  covers('rule-5.runner')
  const whole = await putJob(server, { job_type: 'workflow' })
  const ran = await putJob(server, { runner_name: 'north', held_epoch: 3 })
  const part = await putJob(server, { runner_name: 'north', held_epoch: 4, parent_id: whole })
  await putJob(server, { runner_name: 'north', status: 'failed' })
  await putJob(server, { runner_name: 'south', held_epoch: 3 })
  const { records } = (await call('admin', 'GET', '/job?runner=north')).body as { records: { id: number }[] }
  expect(records.map(({ id }) => id)).toEqual([part, ran])
})

test('a lock of the designer that becomes free after its time is announced as a change', async () => {
  covers('live.designer')
  const told: string[] = []
  const off = server.parts.live.subscribe((name) => told.push(name))
  const { store, clock } = server
  const { live } = server.parts
  const timers = { after: () => () => undefined, every: () => () => undefined }
  const expiry = createLockExpiry({ store, live, clock, timers, log: { warn: () => undefined } })
  try {
    expect((await call('admin', 'POST', '/lock')).status).toBe(200)
    told.length = 0
    await expiry.sweep()
    expect(told).toEqual([])
    clock.move(10 * 60_000)
    await expiry.sweep()
    await expiry.sweep()
    // The server looks by itself, too; whoever is first tells it.
    await waitFor('designer', () => told.length > 0)
    expect(told).toEqual(['designer'])
  } finally {
    off()
    await expiry.close()
  }
})

function putEnd(id: number) {
  return server.store.write('test.end', (queries) =>
    queries.updateTable('job').set({ status: 'success', dispatch: 'done', end_time: 2 }).where('id', '=', id).execute(),
  )
}
