import { SOCKET_PATH } from '@holdfast/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { RawAgent, newIdentity } from '../../support/raw-agent.js'
import { waitFor } from '../../support/wait.js'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

/** How much waits for a person. */
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: public, groups: []}
  - {name: ops, groups: [local/ops]}
`

const APPROVED = `name: asks
type: ansible
roles: [public]
playbook: x.yml
approval: {message: Look, roles: [ops]}
fields: []
`

let server: TestServer
beforeAll(async () => {
  server = await startServer({ config: CONFIG, forms: { 'asks.yml': APPROVED, 'broken.yml': 'name: [' } })
  await addRunner(server, 'away', { isDefault: true })
})
afterAll(() => server.close())

const attention = async (token: string) => (await server.call('GET', '/attention', { token })).body

test('an admin is told of approvals, runners and forms; others only of the approvals that they may give', async () => {
  const [asker, giver] = [await server.addUser('ann'), await server.addUser('bob', ['ops'])]
  const agent = await RawAgent.join(`ws://127.0.0.1:${server.port}${SOCKET_PATH}`, newIdentity('wants-in'))
  await waitFor('the request', async () => (await attention(server.admin)).runner_requests === 1)
  const launched = await server.call('POST', '/job', {
    token: asker.token,
    json: { formName: 'asks', rawFormData: {} },
  })
  expect(launched.status).toBe(200)
  await waitFor('the job to wait', async () => (await attention(giver.token)).approvals === 1)

  const none = { runner_requests: null, lost_runners: null, unknown_jobs: null, broken_forms: null }
  expect(await attention(asker.token)).toEqual({ approvals: 0, ...none })
  expect(await attention(giver.token)).toEqual({ approvals: 1, ...none })
  expect(await attention(server.admin)).toEqual({
    approvals: 1,
    runner_requests: 1,
    lost_runners: 1,
    unknown_jobs: 0,
    broken_forms: 1,
  })
  agent.socket.close()
})

test('nobody is told without a sign-in', async () => {
  expect((await server.call('GET', '/attention')).status).toBe(401)
})
