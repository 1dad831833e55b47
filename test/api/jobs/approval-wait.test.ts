import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteRunner, updateRunner } from '../../../control-plane/src/store/runners/runners.js'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'
import { stored, upload } from '../upload-client.js'

/** What changes while a job waits for its approval, and what must not. */
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: users, groups: [local/users]}
  - {name: default, groups: []}
`
const LIMITED = CONFIG.replace('[local/users]', '[local/users], runners: [other], credentials: [other]')
const DAY_MS = 24 * 60 * 60_000

const form = (runner: string, more = '') => `name: on ${runner}
type: ansible
roles: [default]
playbook: x.yml
runner: ${runner}
approval: {message: Look, roles: []}
${more === '' ? 'fields: []' : more}
`

let server: TestServer
let ann: string

beforeAll(async () => {
  server = await startServer({ config: CONFIG })
  ann = (await server.addUser('ann', ['users'])).token
})
afterAll(() => server.close())

let runners = 0
/** A job that waits for its approval, on a runner of its own. */
async function waitingJob(more = '', files: unknown = {}, token = ann) {
  const name = `edge-${(runners += 1)}`
  const runner = await addRunner(server, name)
  await server.writeForm(`${name}.yml`, form(name, more))
  const json = { formName: `on ${name}`, rawFormData: {}, files }
  const launched = await server.call('POST', '/job', { token, json })
  expect([launched.status, launched.text]).toEqual([200, expect.stringContaining('id')])
  return { id: Number(launched.body.id), name, runner }
}
const approve = (id: number) => server.call('POST', `/job/${id}/approve`, { token: server.admin })
const jobOf = async (id: number) => (await server.call('GET', `/job/${id}?text=true`, { token: server.admin })).body
const change = (id: number, columns: Parameters<typeof updateRunner>[3]) =>
  server.store.write('test.change', (queries) => updateRunner(queries, id, 'approved', columns))

/** It was approved, and its end says why it could not run. */
async function expectFailed(id: number, reason: string): Promise<void> {
  const answer = await approve(id)
  expect([answer.status, answer.body.message]).toEqual([200, `Job ${id} was approved and failed at once: ${reason}`])
  const job = await jobOf(id)
  expect(job).toMatchObject({
    status: 'failed',
    status_reason: reason,
    approval: { state: 'approved', decided_by: 'admin' },
  })
  expect(job.output).toMatch(/Approved by admin at .*\n\[ERROR\]: /)
}

describe('a job is approved whose runner meanwhile', () => {
  test('was turned off: it fails, as a launch does', async () => {
    const { id, name, runner } = await waitingJob()
    await change(runner.id, { enabled: 0 })
    await expectFailed(id, `The runner '${name}' is turned off`)
  })

  test('was deleted: it fails, as a launch does', async () => {
    const { id, name, runner } = await waitingJob()
    await server.store.write('test.delete', (queries) => deleteRunner(queries, runner.id))
    await expectFailed(id, `The runner '${name}' of this job was deleted`)
  })

  test('was deleted and joined again with the same name: the job goes to the new runner', async () => {
    const { id, name, runner } = await waitingJob()
    await server.store.write('test.delete', (queries) => deleteRunner(queries, runner.id))
    const again = await addRunner(server, name)
    expect((await approve(id)).body.message).toBe(`Job ${id} was approved`)
    const row = await server.store.read.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    expect(row).toMatchObject({ status: 'running', dispatch: 'queued', runner_id: again.id })
  })

  test('is not allowed any more for the user who launched it: it fails and says so', async () => {
    const { id, name } = await waitingJob()
    await server.writeConfig(LIMITED)
    try {
      await expectFailed(id, `The roles of ann do not allow jobs on the runner '${name}' any more`)
    } finally {
      await server.writeConfig(CONFIG)
    }
  })

  test('is still allowed, but a credential of it is not any more: it fails and says so', async () => {
    await server.writeCredentials('- {name: db, type: userpass, user: u, password: p}\n')
    const { id, name } = await waitingJob('fields: []\ncredentials: {login: db}')
    await server.writeConfig(LIMITED.replace('runners: [other]', `runners: [${name}]`))
    try {
      await expectFailed(id, "The roles of ann do not allow the credential 'db' any more")
    } finally {
      await server.writeConfig(CONFIG)
    }
  })
})

describe('a job is approved whose launcher meanwhile', () => {
  const account = async (method: string, json?: unknown) => {
    const { body } = await server.call('GET', '/user', { token: server.admin })
    const id = (body.records as { id: number; username: string }[]).find(({ username }) => username === 'ben')?.id
    expect((await server.call(method, `/user/${String(id)}`, { token: server.admin, json })).status).toBe(200)
  }

  test('was blocked: it fails and says so; after the user is enabled again, the next job runs', async () => {
    const { token } = await server.addUser('ben', ['users'])
    const { id } = await waitingJob('', {}, token)
    const next = await waitingJob('', {}, token)
    await account('PUT', { enabled: false })
    await expectFailed(id, 'The account of ben, who launched this job, is blocked')
    await account('PUT', { enabled: true })
    expect((await approve(next.id)).body.message).toBe(`Job ${next.id} was approved`)
  })

  test('was deleted: it fails and says so', async () => {
    const { id } = await waitingJob('', {}, (await server.signIn('ben')).token)
    await account('DELETE')
    await expectFailed(id, 'The account of ben, who launched this job, was deleted')
  })
})

describe('while a job waits', () => {
  test('its uploads are kept, however long; they are removed when it was rejected and deleted', async () => {
    const taking =
      'name: Takes a file\ntype: ansible\nplaybook: x.yml\nroles: [default]\nfields: [{name: it, type: file}]\n'
    await server.writeForm('takes-a-file.yml', taking)
    const file = await upload(server, 'a.txt', 'hello', ann)
    const { id } = await waitingJob('fields: [{name: doc, type: file}]', { doc: file })
    await server.pass(30 * DAY_MS)
    await server.parts.uploads.sweeper.sweep()
    expect(stored(server)).toEqual([file.filename])
    const admin = (await server.signIn('admin')).token
    expect((await server.call('POST', `/job/${id}/reject`, { token: admin })).status).toBe(200)
    expect((await server.call('DELETE', `/job/${id}`, { token: admin })).status).toBe(200)
    await server.parts.uploads.sweeper.sweep()
    expect(stored(server)).toEqual([])
  })
})
