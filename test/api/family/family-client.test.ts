import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { putJob } from '../job-rows.js'
import { addRunner } from '../runner-row.js'
import { ADMIN_PASSWORD, type TestServer, startServer } from '../server.js'

/** The requests that the web client of the product family makes, in its order, against the defaults of a user. */
const CONFIG = `
categories:
  - {name: Default, icon: bars}
  - {name: Cloud, icon: cloud, items: [{name: VMs}]}
constants: {SITE: north}
roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops], options: {showExtravars: false}}
  - {name: default, groups: [], options: {allowJobRelaunch: true}}
`
const FORMS = `
- name: Order
  type: ansible
  roles: [default]
  categories: [Cloud/VMs]
  icon: server
  playbook: order.yml
  fields:
    - {name: size, type: number, required: true}
    - {name: pin, type: password, required: true, model: login.pin}
    - {name: key, type: enum, values: [main, other], asCredential: true}
- name: Machine
  type: ansible
  roles: [default]
  playbook: order.yml
  wizard:
    - {subform: base, name: basics, defaultModel: vm}
    - {subform: extra, name: extras, optional: true, defaultModel: vm.extra}
    - {subform: net, name: network, defaultModel: net, when: "$(__parent__.basics.size) > 1"}
- name: base
  type: subform
  fields:
    - {name: size, type: number, required: true}
    - {name: owner, type: text, model: /owner}
    - {name: root, type: password, required: true}
    - {name: code, type: password, model: [/codes.first, spare]}
- {name: extra, type: subform, fields: [{name: note, type: text, required: true}]}
- {name: net, type: subform, fields: [{name: vlan, type: number, default: 7}]}
- name: Asked
  type: ansible
  roles: [default]
  playbook: order.yml
  approval: {message: ok?, roles: [ops]}
- {name: Hidden, type: ansible, roles: [nobody], playbook: order.yml}
`

let server: TestServer
let ann: string
let otto: string
beforeAll(async () => {
  server = await startServer({ config: CONFIG, forms: { 'all.yml': FORMS } })
  await addRunner(server, 'one', { isDefault: true })
  ann = (await server.addUser('ann')).token
  otto = (await server.addUser('otto', ['ops'])).token
  for (const name of ['main', 'other']) {
    await server.call('POST', '/credential', { token: server.admin, json: { name, password: 'a secret word' } })
  }
})
afterAll(() => server.close())

const get = (path: string, token = ann) => server.call('GET', path, { token })
const post = (path: string, json: unknown, token = ann) => server.call('POST', path, { token, json })
const launch = (json: object, token = ann) => post('/job/', { files: {}, credentials: {}, ...json }, token)
/** What the playbook gets of a job, passwords and all. */
async function variablesOf(id: unknown): Promise<Record<string, unknown>> {
  const { body } = await get(`/job/${Number(id)}`)
  return body.extravars as Record<string, unknown>
}
const end = (id: unknown) =>
  server.store.write('test.end', (queries) =>
    queries
      .updateTable('job')
      .set({ status: 'success', dispatch: 'done', end_time: 2 })
      .where('id', '=', Number(id))
      .execute(),
  )
const payloadOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<string, unknown>

describe('before and at the sign-in', () => {
  test('a page begins without a token', async () => {
    covers('family.start')
    const open = async (path: string) => (await server.call('GET', path)).body
    expect(await open('/schema?1700000000000')).toEqual({ success: ['The database is ready'], failed: [] })
    expect(await open('/app/config')).toMatchObject({ defaultLanguage: 'en', logTz: 'UTC', chatEnabled: false })
    expect(await open('/logo')).toEqual({ logo: null, isDefault: true })
    expect(await open('/version')).toMatchObject({ version: expect.any(String) })
    const settings = { azureAdEnabled: false, oidcEnabled: false }
    expect(await open('/auth/settings')).toMatchObject(settings)
    expect(await open('/auth/logout')).toEqual({ logoutUrl: null })
    const azure = await server.call('GET', '/auth/azureadoauth2')
    expect([azure.status, azure.headers.get('location')]).toEqual([302, '/api/v2/auth/azuread'])
  })

  test('the access token says who is signed in, and what to show them', async () => {
    covers('family.token')
    const basic = `Basic ${Buffer.from(`otto:${ADMIN_PASSWORD}`).toString('base64')}`
    const { body } = await server.call('POST', '/auth/login', { headers: { authorization: basic }, json: {} })
    const { user, access } = payloadOf(String(body.token))
    expect(access).toBe(true)
    expect(user).toMatchObject({ username: 'otto', type: 'local', roles: ['ops', 'default'] })
    expect(user).toMatchObject({ options: { showJobs: true, showExtravars: false, showExtraVars: false } })
    expect(user).toMatchObject({ options: { showDesigner: false, showSettings: false, allowJobRelaunch: true } })
    const admin = payloadOf(server.admin).user
    expect(admin).toMatchObject({
      roles: ['admin', 'default'],
      options: { showDesigner: true, allowStoredJobs: false },
    })
    // It only says so: what somebody may do is looked up at every request.
    expect((await get('/profile', String(body.token))).body).toMatchObject({ options: { showExtravars: false } })
    const next = await server.call('POST', '/token', { json: { refreshtoken: body.refreshtoken } })
    expect(payloadOf(String(next.body.token)).user).toEqual(user)
  })

  test('a user with more roles than a header can carry still signs in', async () => {
    covers('family.token')
    const many = Array.from(
      { length: 250 },
      (_, at) => `  - {name: a-role-of-many-roles-${at}, users: [local/many]}\n`,
    ).join('')
    const crowded = await startServer({ config: `${CONFIG}${many}`, forms: {} })
    try {
      const { token } = await crowded.addUser('many')
      expect(payloadOf(token).user).toMatchObject({ username: 'many', roles: [] })
      const { body } = await crowded.call('GET', '/profile', { token })
      expect(body.roles).toHaveLength(251)
    } finally {
      await crowded.close()
    }
  })
})

describe('forms', () => {
  test('are listed in brief, with categories and constants', async () => {
    covers('family.forms')
    const { body } = await get('/config/formlist?timestamp=1')
    const forms = body.forms as { name: string }[]
    expect(forms.map(({ name }) => name)).toEqual(['Order', 'Machine', 'Asked'])
    expect(forms[0]).toEqual({
      name: 'Order',
      type: 'ansible',
      icon: 'server',
      description: '',
      categories: ['Cloud/VMs'],
    })
    expect(body.categories).toEqual([
      { name: 'Default', icon: 'bars' },
      { name: 'Cloud', icon: 'cloud', items: [{ name: 'VMs', icon: 'bars' }] },
    ])
    expect(body).toMatchObject({ constants: { SITE: 'north' }, errors: [], warnings: [] })
  })

  test('are opened one by one, with their subforms', async () => {
    covers('family.forms')
    const { body } = await get('/config/form?name=Machine&timestamp=1')
    const [form] = body.forms as { name: string; subforms: { name: string; fields: unknown[] }[]; wizard: unknown[] }[]
    expect(form?.subforms.map(({ name }) => name)).toEqual(['base', 'extra', 'net'])
    expect(form?.wizard).toHaveLength(3)
    expect(form).not.toHaveProperty('playbook')
    expect(body.constants).toEqual({ SITE: 'north' })
    expect((await get('/config/form?name=Hidden')).status).toBe(403)
    expect((await get('/config/form?name=Nowhere')).status).toBe(404)
    expect((await get('/config/form')).status).toBe(400)
  })

  test('are complete for admins', async () => {
    covers('family.forms')
    expect((await get('/config')).status).toBe(403)
    const { body } = await get('/config', server.admin)
    expect((body.forms as unknown[]).length).toBe(7)
    expect(body).toMatchObject({
      constants: { SITE: 'north' },
      roles: [{ name: 'admin' }, { name: 'ops' }, { name: 'default' }],
    })
  })
})

describe('a launch of a plain form', () => {
  const extravars = { size: 3, login: { pin: 'hush hush' }, key: 'other', more: 'not a field', __limit__: 'all' }

  test('has its passwords in the extra variables, and nothing else is read from there', async () => {
    covers('family.passwords')
    const { status, body } = await launch({
      formName: 'Order',
      extravars,
      rawFormData: { size: 3, key: 'other' },
      credentials: { key: 'other' },
    })
    expect([status, body]).toEqual([200, { id: expect.any(Number) }])
    const variables = await variablesOf(body.id)
    expect(variables).toMatchObject({ size: 3, login: { pin: '********' } })
    expect(variables).not.toHaveProperty('more')
    expect(variables).not.toHaveProperty('__limit__')
    expect((await get(`/job/${Number(body.id)}/rawformdata`)).body).toEqual({ size: 3, key: 'other' })
  })

  test('without the password is refused, and a mask does not count as a password', async () => {
    covers('family.passwords')
    const without = await launch({ formName: 'Order', extravars: { size: 3 }, rawFormData: { size: 3 } })
    expect([without.status, without.body.details]).toMatchObject([422, { missing: ['pin'] }])
    const masked = { size: 3, login: { pin: '********' } }
    expect((await launch({ formName: 'Order', extravars: masked, rawFormData: { size: 3 } })).status).toBe(422)
  })

  test('a password among the field values counts before the one among the variables', async () => {
    covers('family.passwords')
    const rawFormData = { size: 3, pin: '' }
    const { status, body } = await launch({ formName: 'Order', extravars, rawFormData })
    expect([status, body.details]).toMatchObject([422, { missing: ['pin'] }])
  })
})

describe('a launch of a wizard', () => {
  const rawFormData = {
    __wizard__: true,
    drafts: { basics: { size: 2, owner: 'ann' }, extras: { note: 'half writ' }, network: { vlan: 9 } },
    skipped: { extras: true },
  }
  const extravars = {
    vm: { size: 2, root: 'the root one' },
    owner: 'ann',
    codes: { first: 'c0de one' },
    net: { vlan: 9 },
  }

  test('sends the steps as drafts; a field with a slash before its model is at the root', async () => {
    covers('family.wizard', 'family.passwords')
    const { status, body } = await launch({ formName: 'Machine', extravars, rawFormData })
    expect([status, body]).toEqual([200, { id: expect.any(Number) }])
    const variables = await variablesOf(body.id)
    expect(variables).toMatchObject({
      vm: { size: 2, root: '********', spare: '********' },
      owner: 'ann',
      codes: { first: '********' },
      net: { vlan: 9 },
    })
    expect(variables.vm).not.toHaveProperty('owner')
    expect(variables.vm).not.toHaveProperty('extra')
    // The page fills its steps with these again.
    expect((await get(`/job/${Number(body.id)}/rawformdata`)).body).toEqual(rawFormData)
  })

  test('the shape of this service gives the same', async () => {
    covers('family.wizard')
    const own = { basics: { size: 2, owner: 'ann', root: 'the root one', code: 'c0de one' }, network: { vlan: 9 } }
    const answers = [
      await launch({ formName: 'Machine', rawFormData: own }),
      await launch({ formName: 'Machine', extravars, rawFormData }),
    ]
    const [one, other] = await Promise.all(answers.map(({ body }) => variablesOf(body.id)))
    expect({ ...one, __jobid__: 0 }).toEqual({ ...other, __jobid__: 0 })
  })

  test('a step is skipped only when it is optional, and misspelt names are told', async () => {
    covers('family.wizard')
    const all = { ...rawFormData, skipped: { basics: true } }
    const kept = await launch({ formName: 'Machine', extravars, rawFormData: all })
    expect((await variablesOf(kept.body.id)).vm).toMatchObject({ size: 2, extra: { note: 'half writ' } })
    const misspelt = { ...rawFormData, drafts: { basics: { siz: 2 }, netwerk: {} } }
    const { status, body } = await launch({ formName: 'Machine', extravars, rawFormData: misspelt })
    expect([status, body.details]).toMatchObject([422, { invalid: ['netwerk', 'basics.siz'] }])
    const empty = { __wizard__: true, drafts: {}, skipped: {} }
    const missing = await launch({ formName: 'Machine', extravars: {}, rawFormData: empty })
    expect(missing.body.details).toMatchObject({ missing: ['basics.size', 'basics.root'] })
  })

  test('is launched again unchanged, with the passwords sent again', async () => {
    covers('family.wizard')
    const { body } = await launch({ formName: 'Machine', extravars, rawFormData })
    await end(body.id)
    const again = await post(`/job/${Number(body.id)}/relaunch`, {})
    expect(again.status).toBe(422)
    const values = { basics: { root: 'the root one', code: 'c0de one' } }
    const relaunched = await post(`/job/${Number(body.id)}/relaunch`, { values })
    expect(relaunched.status).toBe(200)
    expect((await get(`/job/${Number(relaunched.body.id)}/rawformdata`)).body).toEqual({
      ...rawFormData,
      drafts: { basics: { size: 2, owner: 'ann' }, network: { vlan: 9 } },
    })
  })
})

describe('jobs', () => {
  test('are followed, aborted, launched again and deleted', async () => {
    covers('family.jobs')
    const asked = { formName: 'Asked', extravars: {}, rawFormData: {} }
    const plain = { formName: 'Order', extravars: { login: { pin: 'hush' } }, rawFormData: { size: 1 } }
    const running = (await launch(plain)).body.id
    expect((await get(`/job/${Number(running)}`)).body).toMatchObject({
      status: 'running',
      subjobs: [],
      output: expect.any(String),
    })
    expect((await post(`/job/${Number(running)}/abort`, {})).body).toEqual({ message: expect.any(String) })
    const waiting = Number((await launch(asked)).body.id)
    expect((await get('/job/approvals', otto)).text).toBe('1')
    expect((await post(`/job/${waiting}/approve`, {}, otto)).body).toEqual({ message: expect.any(String) })
    await end(waiting)
    const relaunched = await post(`/job/${waiting}/relaunch`, {})
    expect(relaunched.body).toEqual({ message: expect.any(String), id: expect.any(Number) })
    expect((await post(`/job/${Number(relaunched.body.id)}/reject`, {}, otto)).status).toBe(200)
    const { body } = await get('/job?records=500')
    expect((body.records as { id: number }[])[0]?.id).toBe(relaunched.body.id)
    const ended = await putJob(server)
    expect((await server.call('DELETE', `/job/${ended}`, { token: ann })).body).toEqual({ message: expect.any(String) })
    expect((await get(`/job/${ended}`)).status).toBe(404)
  })
})

describe('the lock of the designer', () => {
  test('is there in the shape of the family, too', async () => {
    covers('family.lock')
    const { body } = await get('/lock', server.admin)
    expect(body).toMatchObject({ free: true, locked: false })
    expect(body).not.toHaveProperty('lock')
    expect((await post('/lock', {}, server.admin)).body).toMatchObject({ message: expect.any(String), match: true })
    const held = (await get('/lock')).body
    const lock = {
      username: 'admin',
      type: 'local',
      created: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    }
    expect(held).toMatchObject({ free: false, match: false, lock, locked: true, holder: 'local/admin' })
    const released = await server.call('DELETE', '/lock', { token: server.admin })
    expect(released.body).toEqual({ message: expect.any(String) })
  })
})

test('a missing page is 404 in the shape of every error', async () => {
  covers('family.missing')
  for (const path of ['/stored-jobs', '/settings', '/group', '/repository', '/ldap', '/log', '/backup']) {
    const { status, body } = await get(path, server.admin)
    expect([path, status, body.error]).toEqual([path, 404, expect.any(String)])
  }
  for (const path of ['/auth/oidc/login']) {
    const { status, body } = await post(path, {}, server.admin)
    expect([path, status, body.error]).toEqual([path, 404, expect.any(String)])
  }
})
