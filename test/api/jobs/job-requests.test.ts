import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type TestServer, startServer } from '../server.js'

/** What the job endpoints answer to requests that are wrong or not allowed. Without a runner each job fails at once. */
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
  'part.yml': form('part', 'type: subform'),
}
const OPEN = { formName: 'open', rawFormData: {} }

let server: TestServer
let tokens: Record<'ann' | 'bob' | 'watcher' | 'manager', string>
beforeAll(async () => {
  server = await startServer({ config: CONFIG, forms: FORMS })
  const tokenOf = async (name: string, ...groups: string[]) => (await server.addUser(name, groups)).token
  tokens = {
    ann: await tokenOf('ann', 'ops'),
    bob: await tokenOf('bob'),
    watcher: await tokenOf('wat', 'watchers'),
    manager: await tokenOf('max', 'managers'),
  }
})
afterAll(() => server.close())

const launch = (json: unknown, token = tokens.bob) => server.call('POST', '/job', { token, json })
const countOfJobs = async () => (await server.call('GET', '/job', { token: server.admin })).body.count
const statusOf = async (method: string, path: string, token: string) =>
  (await server.call(method, path, { token })).status

test.each([
  [undefined],
  [{}],
  [null],
  [{ formName: 5 }],
  [{ formName: '' }],
  [{ formName: 'open', extravars: [] }],
  [{ formName: 'open', rawFormData: 7 }],
  [{ formName: 'open', files: 'x' }],
])('a launch with %j is 400', async (body) => {
  covers('launch.formname', 'rule-1.formname', 'answer.400')
  expect((await launch(body)).status).toBe(400)
})

test.each([
  ['unknown', 404],
  ['../open', 404],
  ['open.yml', 404],
  ['ops only', 403],
  ['steps', 422],
  ['foreign', 422],
  ['part', 422],
])('a launch of the form %j is %i and creates nothing', async (formName, status) => {
  covers('answer.launched-by-form', 'form.foreign-types')
  const before = await countOfJobs()
  // Parts of other forms have no roles of their own, so only an admin gets as far as their type.
  const token = formName === 'part' ? server.admin : tokens.bob
  expect((await launch({ formName, rawFormData: {} }, token)).status).toBe(status)
  expect(await countOfJobs()).toBe(before)
})

test('without any runner a job fails at once and its output says so', async () => {
  covers('detail.no-runner')
  const { body } = await launch(OPEN)
  const job = await server.call('GET', `/job/${String(body.id)}?text=true`, { token: tokens.bob })
  expect(job.body).toMatchObject({ status: 'failed', user: 'bob', runner: null })
  expect(job.body.output).toContain('There is no default runner')
})

test('payload is another name for extravars', async () => {
  covers('launch.payload', 'job.payload')
  const { body } = await launch({ ...OPEN, payload: { __verbose__: true } })
  const job = await server.call('GET', `/job/${String(body.id)}`, { token: tokens.bob })
  expect(job.body).toMatchObject({ extravars: { __verbose__: true }, payload: { __verbose__: true } })
})

test('another user’s job is not aborted and not deleted; which of it each role option opens', async () => {
  covers('answer.403', 'answer.order', 'detail.abort-who', 'detail.delete-who', 'rule-12.abort')
  const own = `/job/${String((await launch(OPEN, tokens.ann)).body.id)}`
  for (const path of ['/events/1', '/output']) expect(await statusOf('GET', own + path, tokens.bob)).toBe(403)
  expect(await statusOf('GET', own, tokens.watcher)).toBe(200)
  for (const token of [tokens.bob, tokens.watcher]) {
    expect(await statusOf('POST', `${own}/abort`, token)).toBe(403)
    expect(await statusOf('DELETE', own, token)).toBe(403)
  }
  for (const token of [tokens.ann, tokens.manager, server.admin])
    expect(await statusOf('POST', `${own}/abort`, token)).toBe(409)
  expect(await statusOf('DELETE', own, tokens.manager)).toBe(200)
})

test('a filter by an unknown kind of users is 400, and no filter widens what one may see', async () => {
  covers('detail.filters', 'detail.unknown-user-type')
  await launch(OPEN, tokens.ann)
  const asAnn = await server.call('GET', '/job?user=ann', { token: tokens.ann })
  expect(asAnn.body.count).toBeGreaterThan(0)
  const asBob = await server.call('GET', '/job?user=ann', { token: tokens.bob })
  expect(asBob.body).toMatchObject({ count: 0, records: [] })
  expect(await statusOf('GET', '/job?user=ann&user_type=martian', server.admin)).toBe(400)
})
