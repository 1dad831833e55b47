import { SOCKET_PATH } from '@holdfast/protocol'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type EventStream, openEventStream } from '../../support/event-stream.js'
import { RawAgent, newIdentity } from '../../support/raw-agent.js'
import { waitFor } from '../../support/wait.js'
import { heldTimers } from '../held-timers.js'
import { runnerIdOf } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

/** What is said on the event stream when jobs and runners change, and to whom. */
const FORM = 'name: open\ntype: ansible\nroles: [default]\nplaybook: x.yml\nfields: []\n'

let server: TestServer
let ann: string
let bob: string
const held = heldTimers()
const streams: EventStream[] = []

beforeAll(async () => {
  server = await startServer({
    forms: { 'open.yml': FORM },
    timers: held.timers,
  })
  ann = (await server.addUser('ann')).token
  bob = (await server.addUser('bob')).token
})
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close()
})
afterAll(() => server.close())

async function open(token: string, headers: Record<string, string> = {}): Promise<EventStream> {
  const stream = await openEventStream(server.url, token, headers)
  streams.push(stream)
  return stream
}

/** Does something and waits until the stream says a name that was not said before. */
async function expectSaid(stream: EventStream, name: string, act: () => Promise<unknown>): Promise<void> {
  const said = () => stream.changes().filter((data) => (data as { name: string }).name === name).length
  held.move(2000)
  const before = said()
  await act()
  await waitFor(`the stream to say ${name}`, () => {
    held.move(1100)
    return said() > before
  })
}

const launch = async (token: string) =>
  Number((await server.call('POST', '/job', { token, json: { formName: 'open', rawFormData: {} } })).body.id)

test('jobs is sent when a job is launched and when one is deleted', async () => {
  covers('live.changed', 'live.jobs-launched', 'live.jobs-deleted', 'live-1.name-only')
  const stream = await open(ann)
  let id = 0
  await expectSaid(stream, 'jobs', async () => (id = await launch(ann)))
  expect(new Set(stream.changes().map((data) => JSON.stringify(data)))).toEqual(new Set(['{"name":"jobs"}']))
  // All that the launch had to say is said when another name came after it.
  await expectSaid(stream, 'appearance', () =>
    server.call('PUT', '/settings/appearance', { token: server.admin, json: { name: 'Ours' } }),
  )
  await expectSaid(stream, 'jobs', () => server.call('DELETE', `/job/${id}`, { token: ann }))
})

test('a client that gets a change reads it again with its own permissions', async () => {
  covers('live-6.own-permissions', 'service.changes-by-name')
  const [hers, his] = [await open(ann), await open(bob)]
  let id = 0
  await expectSaid(his, 'jobs', async () => (id = await launch(ann)))
  expect(his.changes()).toEqual([{ name: 'jobs' }])
  await waitFor('the owner to hear it', () => hers.changes().length > 0)
  const read = async (token: string) => (await server.call('GET', `/job/${id}`, { token })).status
  expect([await read(ann), await read(bob)]).toEqual([200, 403])
})

test('every setting of the header sends appearance', async () => {
  covers('live.appearance')
  const stream = await open(bob)
  for (const json of [{ theme: 'dark' }, { name: 'Here' }, { announcement: 'Hi' }, { environment: 'test' }]) {
    await expectSaid(stream, 'appearance', () =>
      server.call('PUT', '/settings/appearance', { token: server.admin, json }),
    )
  }
})

test('runners is sent when a runner asks to join, is approved, changes its settings, leaves, comes and is rejected', async () => {
  covers('live.runners-connection', 'live.runners-joining', 'live.runners-settings', 'version.events')
  const stream = await open(bob)
  const asAdmin = (method: string, path: string, json?: unknown) =>
    server.call(method, path, { token: server.admin, json })
  const url = `ws://127.0.0.1:${server.port}${SOCKET_PATH}`
  const identity = newIdentity('said')
  let agent: RawAgent | null = null
  await expectSaid(stream, 'runners', async () => (agent = await RawAgent.join(url, identity)))
  const path = `/runner/${await runnerIdOf(server, 'said')}`
  await expectSaid(stream, 'runners', () => asAdmin('POST', `${path}/approve`))
  await expectSaid(stream, 'runners', () => asAdmin('PUT', path, { max_jobs: 3 }))
  await expectSaid(stream, 'runners', async () => agent?.leave())
  await expectSaid(stream, 'runners', () => RawAgent.join(url, identity))
  await RawAgent.join(url, newIdentity('refused'))
  const refused = `/runner/${await runnerIdOf(server, 'refused')}`
  await expectSaid(stream, 'runners', () => asAdmin('POST', `${refused}/reject`))
  // Addresses of runners that are dialled. Nothing listens at this one.
  let address = ''
  await expectSaid(stream, 'runners', async () => {
    const { body } = await asAdmin('POST', '/runner', { address: 'http://127.0.0.1:1', name: 'dialled' })
    address = `/runner/addresses/${String(body.id)}`
  })
  await expectSaid(stream, 'runners', () => asAdmin('DELETE', address))
})
