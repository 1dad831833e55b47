import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { type Answer, type RestClient, request, signIn } from '../support/rest.js'
import { covers } from '../interface/covers.js'

/** What the job endpoints answer to requests that are wrong or not allowed. Without a runner each job fails at once. */
let product: Product
let ann: RestClient
let bob: RestClient
let watcher: RestClient
let manager: RestClient
let annsJob: number

const PASSWORD = 'a long enough password'

const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops], options: {allowVerboseMode: false}}
  - {name: watchers, groups: [local/watchers], options: {showAllJobLogs: true}}
  - {name: managers, groups: [local/managers], options: {manageAllJobs: true}}
  - {name: default, groups: []}
`

const form = (name: string, more: string) => `name: ${name}\nfields: []\n${more}\n`
const FORMS = {
  'open.yml': form('open', 'type: ansible\nroles: [default]\nplaybook: x.yml'),
  'ops.yml': form('ops only', 'type: ansible\nroles: [ops]\nplaybook: x.yml'),
  'steps.yml': form('steps', 'type: multistep\nroles: [default]\nsteps: [{name: a, type: awx, template: x}]'),
  'awx.yml': form('foreign', 'type: awx\nroles: [default]\ntemplate: t'),
  'limit.yml':
    'name: limit\ntype: ansible\nroles: [default]\nplaybook: x.yml\nfields: [{name: __limit__, type: text}]\n',
  'part.yml': form('part', 'type: subform'),
  'escape.yml': form('escape', 'type: ansible\nroles: [default]\nplaybook: ../../../etc/passwd'),
}

async function addUser(username: string, groups: string[]): Promise<RestClient> {
  await product.admin.post('/user', { username, password: PASSWORD, groups, enabled: true })
  return signIn(product.address, username, PASSWORD)
}

beforeAll(async () => {
  product = await startProduct({
    withAgent: false,
    config: CONFIG,
    forms: FORMS,
    controlPlane: { API_BODY_LIMIT_MB: '1' },
  })
  ann = await addUser('ann', ['ops'])
  bob = await addUser('bob', [])
  watcher = await addUser('wat', ['watchers'])
  manager = await addUser('max', ['managers'])
  annsJob = (await ann.post<{ id: number }>('/job', { formName: 'open', rawFormData: {} })).id
})

afterAll(() => product.close())

/** Every refusal has the one shape, a stable code, and no stack. */
function expectRefusal(answer: Answer, status: number): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(status)
  expect(answer.body).toMatchObject({
    error: expect.stringMatching(/\S/) as string,
    code: expect.stringMatching(/^[a-z_]+$/) as string,
  })
  expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|\.js:\d+/)
  expect(answer.headers.get('x-request-id')).toBeTruthy()
}

const ENDPOINTS = [
  ['POST', '/job'],
  ['GET', '/job'],
  ['GET', '/job/1'],
  ['GET', '/job/1/events'],
  ['GET', '/job/1/events/1'],
  ['GET', '/job/1/output'],
  ['GET', '/job/1/download'],
  ['GET', '/job/1/rawformdata'],
  ['GET', '/job/approvals'],
  ['POST', '/job/1/abort'],
  ['POST', '/job/1/approve'],
  ['POST', '/job/1/reject'],
  ['POST', '/job/1/relaunch'],
  ['DELETE', '/job/1'],
] as const

describe('job requests', () => {
  test.each(ENDPOINTS)('%s %s without a good token is 401', async (method, path) => {
    covers('endpoint.bearer', 'auth.header', 'answer.401')
    for (const token of [null, 'nonsense', `${ann.token}x`]) {
      const answer = await request(
        product.address,
        method,
        path,
        token,
        method === 'POST' ? { formName: 'open' } : undefined,
      )
      expectRefusal(answer, 401)
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
    }
  })

  test.each(ENDPOINTS.filter(([, path]) => path.includes('1')))(
    '%s %s with a wrong id is 400, with an unknown one 404',
    async (method, path) => {
      covers('answer.400', 'answer.404')
      const withId = (id: string) => product.admin.request(method, path.replace('1', id))
      for (const id of ['abc', '1.5', '%00', '1e3', '..%2f1']) expectRefusal(await withId(id), 400)
      for (const id of ['999999', '0', '-1', '99999999999999999999']) expectRefusal(await withId(id), 404)
    },
  )

  test.each([
    [undefined],
    [{}],
    [[]],
    ['text'],
    [null],
    [{ formName: 5 }],
    [{ formName: '' }],
    [{ formName: null }],
    [{ formName: 'open', extravars: [] }],
    [{ formName: 'open', extravars: 'a=1' }],
    [{ formName: 'open', rawFormData: 7 }],
    [{ formName: 'open', files: 'x' }],
    [{ formName: 'x'.repeat(201) }],
  ])('a launch with %j is 400', async (body) => {
    covers('launch.formname', 'rule-1.formname', 'answer.400')
    expectRefusal(await bob.request('POST', '/job', body), 400)
  })

  test('broken JSON, a foreign media type and a huge body are refused in the same shape', async () => {
    covers('answer.error-shape', 'answer.413', 'answer.415')
    const send = async (body: string, type: string): Promise<Answer> => {
      const headers = { authorization: `Bearer ${bob.token}`, 'content-type': type }
      const response = await fetch(`${product.address}/api/v2/job`, { method: 'POST', headers, body })
      return { status: response.status, headers: response.headers, body: await response.json() }
    }
    expectRefusal(await send('{"formName": ', 'application/json'), 400)
    expectRefusal(await send('formName=open', 'text/plain'), 415)
    expectRefusal(
      await send(JSON.stringify({ formName: 'open', extravars: { a: 'x'.repeat(2_000_000) } }), 'application/json'),
      413,
    )
  })

  test('values that are nested without end, or too long for an order, are refused and create nothing', async () => {
    const before = await product.admin.get<{ count: number }>('/job')
    const nested = (depth: number) => `{"a": ${'['.repeat(depth)}${']'.repeat(depth)}}`
    for (const depth of [101, 5000, 100_000]) {
      for (const name of ['extravars', 'payload', 'rawFormData']) {
        const response = await fetch(`${product.address}/api/v2/job`, {
          method: 'POST',
          headers: { authorization: `Bearer ${bob.token}`, 'content-type': 'application/json' },
          body: `{"formName": "open", "${name}": ${nested(depth)}}`,
        })
        expectRefusal({ status: response.status, headers: response.headers, body: await response.json() }, 400)
      }
    }
    const rawFormData = { __limit__: 'x'.repeat(5000) }
    expectRefusal(await bob.request('POST', '/job', { formName: 'limit', rawFormData }), 422)
    expect((await product.admin.get<{ count: number }>('/job')).count).toBe(before.count)
  })

  test.each([
    ['unknown', 404],
    ['../open', 404],
    ['open.yml', 404],
    ['/etc/passwd', 404],
    ['ops only', 403],
    ['steps', 422],
    ['foreign', 422],
    ['part', 422],
    ['escape', 422],
  ])('launching the form %j is %i and creates nothing', async (formName, status) => {
    covers('answer.launched-by-form', 'form.foreign-types')
    const before = await product.admin.get<{ count: number }>('/job')
    // Parts of other forms have no roles of their own, so only an admin gets as far as their type.
    const answer = await (formName === 'part' ? product.admin : bob).request('POST', '/job', {
      formName,
      rawFormData: {},
    })
    // A form whose playbook leaves the folder may be left out when the files are read, or refused at the launch.
    if (formName === 'escape') expect([404, 422]).toContain(answer.status)
    else expectRefusal(answer, status)
    expect((await product.admin.get<{ count: number }>('/job')).count).toBe(before.count)
  })

  test('uploads that could not reach the playbook are refused, not ignored', async () => {
    covers('rule-1.disk')
    expectRefusal(
      await bob.request('POST', '/job', {
        formName: 'open',
        rawFormData: {},
        files: { report: { path: '/etc/passwd' } },
      }),
      422,
    )
    expect((await bob.request('POST', '/job', { formName: 'open', rawFormData: {}, files: {} })).status).toBe(200)
  })

  test('the verbose mode needs its role option', async () => {
    covers('rule-2.verbose', 'auth.verbose-launch', 'error.verbose')
    expectRefusal(
      await ann.request('POST', '/job', { formName: 'open', rawFormData: {}, extravars: { __verbose__: true } }),
      403,
    )
    expect(
      (await bob.request('POST', '/job', { formName: 'open', rawFormData: {}, extravars: { __verbose__: true } }))
        .status,
    ).toBe(200)
  })

  test('without any runner a job fails at once and its output says so', async () => {
    covers('detail.no-runner')
    const job = await ann.get(`/job/${annsJob}?text=true`)
    expect(job).toMatchObject({ status: 'failed', user: 'ann', runner: null })
    expect(job.output).toContain('There is no default runner')
  })

  test('payload is another name for extravars', async () => {
    covers('launch.payload', 'job.payload')
    const { id } = await bob.post<{ id: number }>('/job', {
      formName: 'open',
      rawFormData: {},
      payload: { __verbose__: true },
    })
    expect(await bob.get(`/job/${id}`)).toMatchObject({
      extravars: { __verbose__: true },
      payload: { __verbose__: true },
    })
  })

  test('another user’s job: not read, not aborted, not deleted; which of it each role option opens', async () => {
    covers('answer.403', 'answer.order', 'detail.abort-who', 'detail.delete-who', 'rule-12.abort')
    const own = `/job/${annsJob}`
    for (const path of ['', '/events', '/events/1', '/output', '/download'])
      expectRefusal(await bob.request('GET', own + path), 403)
    expectRefusal(await bob.request('POST', `${own}/abort`), 403)
    expectRefusal(await bob.request('DELETE', own), 403)
    expect((await watcher.request('GET', own)).status).toBe(200)
    expectRefusal(await watcher.request('POST', `${own}/abort`), 403)
    expectRefusal(await watcher.request('DELETE', own), 403)
    for (const client of [ann, manager, product.admin]) expectRefusal(await client.request('POST', `${own}/abort`), 409)
    const second = (await ann.post<{ id: number }>('/job', { formName: 'open', rawFormData: {} })).id
    expect((await manager.request('DELETE', `/job/${second}`)).status).toBe(200)
  })

  test('lists show what the caller may see, and filters never widen that', async () => {
    covers('rule-6.own', 'rule-6.all', 'list.count', 'detail.filters', 'detail.unknown-user-type')
    const users = async (client: RestClient, query: string) => {
      const list = await client.get<{ count: number; records: { user: string; id: number }[] }>(`/job${query}`)
      expect(list.count).toBe(list.records.length)
      expect(list.records.map((job) => job.id)).toEqual(
        list.records.map((job) => job.id).sort((one, other) => other - one),
      )
      return [...new Set(list.records.map((job) => job.user))].sort()
    }
    await bob.post('/job', { formName: 'open', rawFormData: {} })
    expect(await users(ann, '')).toEqual(['ann'])
    expect(await users(bob, '')).toEqual(['bob'])
    expect(await users(bob, '?user=ann')).toEqual([])
    for (const client of [watcher, manager, product.admin]) expect(await users(client, '')).toEqual(['ann', 'bob'])
    expect(await users(product.admin, '?user=ann')).toEqual(['ann'])
    expect(await users(product.admin, '?user=ann&user_type=ldap')).toEqual([])
    expect(await users(product.admin, '?runner=nobody')).toEqual([])
    expectRefusal(await product.admin.request('GET', '/job?user=ann&user_type=martian'), 400)
    for (const records of ['0', '-1', 'abc', '99999999'])
      expect((await ann.request('GET', `/job?records=${records}`)).status).toBe(200)
    expect((await product.admin.get<{ count: number }>('/job?records=1')).count).toBe(1)
  })

  test('an event is asked for by a whole number', async () => {
    covers('rule-9.order', 'error.order', 'error.no-event')
    for (const order of ['x', '1.5', 'NaN'])
      expectRefusal(await ann.request('GET', `/job/${annsJob}/events/${order}`), 400)
    for (const order of ['1', '0', '-1', '99999999999999999999'])
      expectRefusal(await ann.request('GET', `/job/${annsJob}/events/${order}`), 404)
    expect(await ann.get(`/job/${annsJob}/events`)).toEqual({ count: 0, records: [] })
  })

  test('beyond the end of the output and of the events there is nothing', async () => {
    const far = '99999999999999999999'
    expect(await ann.get(`/job/${annsJob}/events?after=${far}`)).toEqual({ count: 0, records: [] })
    const headers = { authorization: `Bearer ${ann.token}` }
    const answer = await fetch(`${product.address}/api/v2/job/${annsJob}/output?offset=${far}`, { headers })
    expect([answer.status, await answer.text()]).toEqual([200, ''])
  })

  test('the documentation lists every job endpoint', async () => {
    covers('answer.docs')
    const { paths } = await product.admin.get<{ paths: Record<string, Record<string, unknown>> }>('/docs/json')
    for (const [method, path] of ENDPOINTS) {
      const documented = `/api/v2${path.replace('/job/1', '/job/{id}').replace('/events/1', '/events/{order}')}`
      expect(paths[documented]?.[method.toLowerCase()], documented).toBeDefined()
    }
    for (const path of ['output', 'download']) {
      const answers = paths[`/api/v2/job/{id}/${path}`]?.get as { responses: Record<string, { content: object }> }
      expect(Object.keys(answers.responses['200']?.content ?? {})).toEqual(['text/plain'])
      expect(answers.responses['404']).toEqual({ $ref: '#/components/responses/NotFound' })
    }
  })
})
