import { afterAll, beforeAll, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import { waitFor } from '../support/wait.js'

const FORM = 'name: one\ntype: ansible\nplaybook: one.yml\nroles: [public]\nfields: []\n'

let server: TestServer

beforeAll(async () => {
  server = await startServer({ forms: { 'one.yml': FORM } })
})
afterAll(() => server.close())

const socketUrl = () => `${server.url.replace('http', 'ws')}/api/v2/rte/socket`

test('a connection that does not know of an offer of its runner is ended, and the next one gets the offer', async () => {
  const identity = newIdentity('edge')
  const agent = await RawAgent.join(socketUrl(), identity)
  const { body } = await server.call('GET', '/runner', { token: server.admin })
  const [runner] = body.records as { id: number; fingerprint: string }[]
  const { id, fingerprint } = runner ?? { id: 0, fingerprint: '' }
  await server.call('POST', `/runner/${id}/approve`, { token: server.admin })
  await server.call('PUT', `/runner/${id}`, { token: server.admin, json: { is_default: true } })
  await agent.next('settings')
  // A runner that drains gets no new offers, so the job stays without one.
  agent.status({ max_jobs: 10, draining: true })
  agent.say({ type: 'inventory', jobs: [] })
  await agent.next('resume')
  const launched = await server.call('POST', '/job', {
    token: server.admin,
    json: { formName: 'one', rawFormData: {}, extravars: {} },
  })
  const jobId = Number(launched.body.id)
  const row = () =>
    server.store.read.selectFrom('job').select('dispatch').where('id', '=', jobId).executeTakeFirstOrThrow()
  const dispatch = async () => (await row()).dispatch
  await waitFor('the queue', async () => (await dispatch()) === 'queued')
  // As it stands when the answer to a commit was lost: the offer is stored, and nobody sent it.
  await server.store.write('test', (queries) =>
    queries.updateTable('job').set({ dispatch: 'offered', runner_key: fingerprint }).where('id', '=', jobId).execute(),
  )
  await agent.waitForClose()
  const next = await RawAgent.join(socketUrl(), identity)
  next.say({ type: 'inventory', jobs: [] })
  await waitFor('the queue', async () => (await dispatch()) === 'queued')
  next.status()
  await next.next('offer')
  await next.leave()
})
