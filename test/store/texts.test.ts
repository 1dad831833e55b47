import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readEventPages } from '../../control-plane/src/store/jobs/job-events.js'
import { appendToStreams } from '../../control-plane/src/store/jobs/job-streams.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { type TestServer, startServer } from '../api/server.js'
import { filePart, formOf, send } from '../api/upload-client.js'
import { queuedJob } from '../runners/queued-job.js'

/** What clients and runners may say, and a text of PostgreSQL cannot hold: U+0000 and halves of characters. */
const ODD = ['a\0b', '\0', '\ud800x', 'x\udc00']
const FORM = 'name: f\nplaybook: p.yml\nroles: [default]\nfields: [{name: text, type: text}]\n'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ settings: { LAUNCH_VALIDATION: 'off' }, forms: { 'f.yml': FORM }, database: 'postgres' })
})
afterAll(() => server.close())

const call = (method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: server.admin, ...(json === undefined ? {} : { json }) })

describe.each(ODD)('%j', (odd) => {
  const text = encodeURIComponent(odd.replace(/[\ud800-\udfff]/g, '\ufffd'))

  test.each([
    ['a sign-in', 'POST', '/auth/login', { username: odd, password: 'x' }],
    ['an account', 'POST', '/user', { username: odd, password: 'correct horse battery', groups: ['g'] }],
    ['groups', 'POST', '/user', { username: `g${ODD.indexOf(odd)}`, password: 'correct horse battery', groups: [odd] }],
    ['a credential', 'POST', '/credential', { name: odd, type: 'userpass', user: odd, password: odd }],
    ['a launch of no form', 'POST', '/job', { formName: odd }],
    ['the appearance', 'PUT', '/settings/appearance', { theme: 'light', name: odd, announcement: odd }],
    ['an API token', 'POST', '/profile/tokens', { name: odd }],
    ['a user filter', 'GET', `/job?user=${text}`, undefined],
    ['a runner filter', 'GET', `/job?runner=${text}`, undefined],
    ['an audit filter', 'GET', `/audit?user=${text}&action=${text}`, undefined],
    ['a name in a path', 'GET', `/job/upload/${text}`, undefined],
  ])('in %s is answered, not an error of ours', async (_where, method, path, json) => {
    expect((await call(method, path, json)).status).toBeLessThan(500)
  })

  test('in the values of a launch comes back as it was sent', async () => {
    const launched = await call('POST', '/job', { formName: 'f', extravars: { text: odd } })
    expect(launched.status).toBe(200)
    const job = await call('GET', `/job/${String(launched.body.id)}`)
    expect((job.body.extravars as { text: string }).text).toBe(odd)
  })

  test('in the name of an upload is answered, too', async () => {
    expect((await send(server, formOf(filePart(odd, 'content')))).status).toBeLessThan(500)
  })
})

test('numbers that no id has are answered', async () => {
  for (const number of ['9007199254740991', '9223372036854775808', '99999999999999999999', '1e400', '-1']) {
    for (const path of ['/job', '/user', '/credential']) {
      expect((await call('GET', `${path}/${number}`)).status).toBeLessThan(500)
    }
    expect((await call('GET', `/audit?before=${number}`)).status).toBeLessThan(500)
  }
})

test('in the columns of an event it is replaced, and the line of the runner stays as it was', async () => {
  const line = Buffer.from('{"task":"a\\u0000b"}\0\n')
  const event = { type: 'a\0b', play: 'a\0b', task: '\ud800', host: '\0', duration: 0.1, time: '\0', line }
  const id = await server.store.write('test', (queries) => insertJob(queries, queuedJob(1)))
  const nothing = { output: 0, events: 0, eventsCount: 0 }
  await server.store.write('test', (queries) => appendToStreams(queries, id, nothing, Buffer.from('\0'), [event]))
  const { value: page } = await readEventPages(server.store.read, id, {
    after: 0,
    before: 1e9,
    limit: 10,
    isDescending: false,
  }).next()
  const [row] = page ?? []
  expect(row).toMatchObject({ type: 'a\ufffdb', play: 'a\ufffdb', task: '\ufffd', host: '\ufffd', duration: 0.1 })
  const stored = await server.store.read.selectFrom('job_event').select('line').where('job_id', '=', id).execute()
  expect(stored[0]?.line.equals(line)).toBe(true)
})

test('names are sorted by their bytes, whatever language the database was made for', async () => {
  for (const name of ['b', 'A', 'a', 'B', 'ä', '_']) {
    await call('POST', '/credential', { name: `sorted ${name}`, type: 'userpass', user: 'u', password: 'p' })
  }
  const { records } = (await call('GET', '/credential')).body as { records: { name: string }[] }
  const names = records.map(({ name }) => name).filter((name) => name.startsWith('sorted '))
  expect(names.map((name) => name.slice(7))).toEqual(['A', 'B', '_', 'a', 'b', 'ä'])
})
