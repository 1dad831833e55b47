import { afterAll, beforeAll, expect, test } from 'vitest'
import { addRunner } from '../api/runner-row.js'
import { type TestServer, startServer } from '../api/server.js'
import { upload } from '../api/upload-client.js'
import { covers } from '../interface/covers.js'

const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops]}
  - {name: keepers, users: [local/Gus]}
  - {name: default, options: {allowJobRelaunch: true}}
`
const FORMS = `- name: open
  type: ansible
  playbook: x.yml
  roles: [default]
  allowRelaunch: true
  fields: []
- name: asks
  type: ansible
  playbook: x.yml
  roles: [default]
  approval: {title: May it?, message: Please, roles: [ops]}
  fields: []
- name: takes a file
  type: ansible
  playbook: x.yml
  roles: [default]
  fields: [{name: image, type: file}]
`

const log: string[] = []
let server: TestServer
beforeAll(async () => {
  server = await startServer({ config: CONFIG, log, forms: { 'forms.yml': FORMS } })
  await addRunner(server, 'edge', { isDefault: true })
})
afterAll(() => server.close())

const launch = async (token: string, formName = 'open') =>
  Number((await server.call('POST', '/job', { token, json: { formName, rawFormData: {} } })).body.id)
const listed = async (token: string) =>
  ((await server.call('GET', '/job', { token })).body.records as { id: number }[]).map(({ id }) => id)

/** Deletes the account and makes another one of that name, for somebody else. */
async function replace(name: string, id: number, groups: readonly string[] = []) {
  expect((await server.call('DELETE', `/user/${id}`, { token: server.admin })).status).toBe(200)
  return server.addUser(name, groups)
}

test('who is given the name of a deleted account gets none of its jobs', async () => {
  const before = await server.addUser('ann')
  const id = await launch(before.token)
  expect(await listed(before.token)).toEqual([id])
  const { token } = await replace('ann', before.id)
  expect(await listed(token)).toEqual([])
  const own = await launch(token)
  expect(await listed(token)).toEqual([own])
  const byName = await server.call('GET', '/job?user=ann', { token })
  expect((byName.body.records as { id: number }[]).map((job) => job.id)).toEqual([own])
  for (const [method, path] of [
    ['GET', `/job/${id}`],
    ['GET', `/job/${id}/events`],
    ['GET', `/job/${id}/output`],
    ['GET', `/job/${id}/rawformdata`],
    ['GET', `/job/${id}/download`],
    ['POST', `/job/${id}/relaunch`],
    ['POST', `/job/${id}/abort`],
    ['DELETE', `/job/${id}`],
  ] as const) {
    const answer = await server.call(method, path, { token })
    expect([method, path, answer.status]).toEqual([method, path, 403])
  }
  // An admin still finds all jobs of that name.
  const all = await server.call('GET', '/job?user=ann', { token: server.admin })
  expect((all.body.records as { id: number }[]).map((job) => job.id)).toEqual([own, id])
})

test('nor may they decide about a job of the one before as if it was their own', async () => {
  const before = await server.addUser('bob')
  const id = await launch(before.token, 'asks')
  const { token } = await replace('bob', before.id)
  expect((await server.call('GET', `/job/${id}`, { token })).status).toBe(403)
  expect((await server.call('POST', `/job/${id}/reject`, { token })).status).toBe(403)
})

test('nor are they kept from a decision because their name launched the job', async () => {
  const before = await server.addUser('cat', ['ops'])
  const id = await launch(before.token, 'asks')
  const own = await server.call('POST', `/job/${id}/approve`, { token: before.token })
  expect([own.status, own.body.code]).toEqual([403, 'own_job'])
  const { token } = await replace('cat', before.id, ['ops'])
  expect(await listed(token)).toContain(id)
  // The account that launched it is gone, and that of the same name is not taken for it.
  const answer = await server.call('POST', `/job/${id}/approve`, { token })
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('was deleted')])
})

test('nor do they read what the one before decided about', async () => {
  const asker = await server.addUser('dan')
  const before = await server.addUser('eve', ['ops'])
  const id = await launch(asker.token, 'asks')
  expect((await server.call('POST', `/job/${id}/reject`, { token: before.token })).status).toBe(200)
  expect((await server.call('GET', `/job/${id}`, { token: before.token })).status).toBe(200)
  const { token } = await replace('eve', before.id, ['ops'])
  expect((await server.call('GET', `/job/${id}`, { token })).status).toBe(403)
  const shown = await server.call('GET', `/job/${id}`, { token: asker.token })
  expect(shown.body.approval).toMatchObject({ state: 'rejected', decided_by: 'eve', decided_by_type: 'local' })
  expect(shown.body.approval).not.toHaveProperty('decided_by_id')
})

test('nor do they use what the one before uploaded', async () => {
  const before = await server.addUser('fay')
  const image = await upload(server, 'secret.txt', 'the content', before.token)
  const { token } = await replace('fay', before.id)
  const json = { formName: 'takes a file', rawFormData: {}, files: { image } }
  const answer = await server.call('POST', '/job', { token, json })
  expect([answer.status, answer.text]).toEqual([422, expect.stringContaining('another user uploaded this file')])
})

const profileOf = async (token: string) => (await server.call('GET', '/profile', { token })).body

test('nor do they get a role that names the one before, until an admin accepts them', async () => {
  covers('role.account')
  const before = await server.addUser('gus')
  expect((await profileOf(before.token)).roles).toEqual(['keepers', 'default'])
  const after = await replace('gus', before.id)
  const { roles, rolesWithheld } = await profileOf(after.token)
  expect({ roles, rolesWithheld }).toEqual({ roles: ['default'], rolesWithheld: ['keepers'] })
  const shown = await server.call('GET', `/user/${after.id}`, { token: server.admin })
  expect(shown.body).toMatchObject({ name_had_by: before.id, roles_withheld: ['keepers'] })
  expect(log.find((line) => line.includes('holdfast user accept-name'))).toContain(`"id":${after.id}`)
  // Nobody accepts themselves.
  expect((await server.call('POST', `/user/${after.id}/accept-name`, { token: after.token })).status).toBe(403)

  const accepted = await server.call('POST', `/user/${after.id}/accept-name`, { token: server.admin })
  expect([accepted.status, accepted.body.name_had_by]).toEqual([200, null])
  const now = await profileOf(after.token)
  expect(now.roles).toEqual(['keepers', 'default'])
  expect(now).not.toHaveProperty('rolesWithheld')
  // The next one of that name is somebody else again, however the name is written.
  const third = await replace('GUS', after.id)
  expect((await profileOf(third.token)).roles).toEqual(['default'])
})

test('nor do they hold the designer lock of the one before, and the audit trail tells the two apart', async () => {
  const before = await server.addUser('ida', ['admins'])
  expect((await server.call('POST', '/lock', { token: before.token })).status).toBe(200)
  const after = await replace('ida', before.id, ['admins'])
  const held = await server.call('GET', '/lock', { token: after.token })
  expect(held.body).toMatchObject({ locked: true, holder: 'local/ida', mine: false })
  for (const method of ['POST', 'DELETE']) {
    const answer = await server.call(method, '/lock', { token: after.token })
    expect([answer.status, answer.body.code]).toEqual([409, 'lock_held'])
  }
  const trail = await server.call('GET', '/audit?user=ida', { token: server.admin })
  const records = trail.body.records as { action: string; status: number; user: string; user_id: number }[]
  const takes = records.filter(({ action }) => action === 'lock.take')
  expect(takes.map(({ user, user_id: by, status }) => [user, by, status])).toEqual([
    ['ida', after.id, 409],
    ['ida', before.id, 200],
  ])
})
