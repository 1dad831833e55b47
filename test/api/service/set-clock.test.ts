import { afterEach, beforeEach, expect, test } from 'vitest'
import { listAudit } from '../../../control-plane/src/store/audit/audit.js'
import { openTestStore } from '../../support/test-database.js'
import { putJob } from '../job-rows.js'
import { type TestServer, startServer } from '../server.js'
import { stored, upload } from '../upload-client.js'
import { addRunner } from '../runner-row.js'

/** A clock that somebody sets, to a right time or a wrong one, deletes nothing that is not old. */
const DAY = 24 * 3_600_000
const YEAR = 365 * DAY

let server: TestServer
let databaseAhead: number
let log: string[]
beforeEach(async () => {
  databaseAhead = 0
  log = []
  server = await startServer({
    log,
    forms: { 'f.yml': '{name: f, playbook: p.yml, roles: [default], fields: [{name: cert, type: file}]}' },
    settings: { JOB_RETENTION_DAYS: '30', AUDIT_RETENTION_DAYS: '30' },
    databaseAhead: () => databaseAhead,
  })
  await work(40)
})
afterEach(() => server.close())

/** Every sweep that deletes for an age, as at a start. */
async function sweep(): Promise<void> {
  const { jobs, audit, uploads, auth } = server.parts
  await jobs.retention.sweep()
  await audit.retention.sweep()
  await uploads.sweeper.sweep()
  await auth.sweeper.sweep()
}

/** The service works for so many days, and sweeps on the last one. */
async function work(days: number): Promise<void> {
  await server.pass(days * DAY)
  await sweep()
}

/** A job, an upload without a job, an API token, and the records about them, made now. */
async function leaveTraces() {
  const { token } = await server.signIn('admin')
  const job = await putJob(server, { end_time: server.clock.now() })
  const file = await upload(server, 'a.pem', 'content', token)
  await server.call('POST', '/profile/tokens', { token, json: { name: 'of the test', expiryDays: 30 } })
  await server.parts.audit.trail.allStored()
  const [record] = await listAudit(server.store.read, { action: 'token.create' }, 1)
  return {
    /** What of it is there. */
    async left() {
      const records = await listAudit(server.store.read, {}, 5000)
      const jobs = await server.store.read.selectFrom('job').select('id').where('id', '=', job).execute()
      const tokens = await server.store.read.selectFrom('session').select('id').where('kind', '=', 'api').execute()
      return {
        job: jobs.length === 1,
        upload: stored(server).includes(String(file.filename)),
        record: records.some(({ id }) => id === record?.id),
        token: tokens.length === 1,
      }
    },
  }
}
const ALL = { job: true, upload: true, record: true, token: true }

const ready = async () => (await server.call('GET', '/ready')).body

test('what is old by the clock and by the work of the service is deleted', async () => {
  const traces = await leaveTraces()
  await work(29)
  expect(await traces.left()).toEqual({ ...ALL, upload: false })
  await work(12)
  expect(await traces.left()).toEqual({ job: false, upload: false, record: false, token: false })
  expect(await ready()).toEqual({ status: 'ready' })
})

test('a clock that is a year ahead deletes nothing that is younger, however long it is, and admins are told', async () => {
  const traces = await leaveTraces()
  server.clock.move(YEAR)
  await sweep()
  expect(await traces.left()).toEqual(ALL)
  const jumped = expect.stringMatching(/^nothing is deleted for its age: .* jumped by 365 days/)
  expect(await ready()).toEqual({ status: 'ready', warnings: [jumped] })
  expect(log.join('')).toContain('nothing is deleted for its age')
  // Nothing contradicts the clock after a while, but a month of work has not passed.
  await work(20)
  expect(await ready()).toEqual({ status: 'ready' })
  expect(await traces.left()).toMatchObject({ job: true, record: true })
  server.clock.move(-YEAR)
  await work(8)
  expect(await traces.left()).toMatchObject({ job: true, record: true })
  await work(3)
  expect(await traces.left()).toMatchObject({ job: false, record: false })
})

test('a clock that is years behind deletes nothing, and what was made under it stays when the clock is right again', async () => {
  const before = await leaveTraces()
  server.clock.move(-20 * YEAR)
  await sweep()
  expect(await before.left()).toEqual(ALL)
  expect(await ready()).toMatchObject({ warnings: [expect.stringMatching(/jumped by 7300 days/)] })
  const during = await putJob(server, { end_time: server.clock.now() })
  const { token } = await server.signIn('admin')
  const file = await upload(server, 'b.pem', 'content', token)
  server.clock.move(20 * YEAR)
  await sweep()
  await server.pass(DAY / 2)
  await sweep()
  expect(await before.left()).toEqual(ALL)
  const jobs = async () => (await server.store.read.selectFrom('job').select('id').execute()).map(({ id }) => id)
  expect(await jobs()).toContain(during)
  expect(stored(server)).toContain(file.filename)
  await work(20)
  expect(await jobs()).toContain(during)
  await work(20)
  expect(await jobs()).toEqual([])
  expect(await before.left()).toMatchObject({ job: false, record: false })
})

test('a clock that was ahead for a while leaves no record that is kept for ever', async () => {
  server.clock.move(20 * YEAR)
  await leaveTraces()
  server.clock.move(-20 * YEAR)
  const traces = await leaveTraces()
  await work(45)
  expect(await traces.left()).toMatchObject({ job: false, record: false })
  const records = await listAudit(server.store.read, {}, 5000)
  expect(records.filter(({ time }) => time > server.clock.now())).toEqual([])
  expect((await server.parts.audit.chain.verify()).isWhole).toBe(true)
})

test('the time in which the service was off makes things stay longer, and nothing stays for ever', async () => {
  const traces = await leaveTraces()
  await work(20)
  server.clock.move(60 * DAY)
  await sweep()
  await work(5)
  expect(await traces.left()).toMatchObject({ job: true, record: true })
  await work(10)
  expect(await traces.left()).toMatchObject({ job: false, record: false })
})

test('while the clock of the database contradicts ours nothing is deleted', async () => {
  const traces = await leaveTraces()
  databaseAhead = -2 * DAY
  await work(45)
  expect(await traces.left()).toEqual(ALL)
  const ahead = 'the clock of this host is 2 days ahead of that of the database'
  expect(await ready()).toMatchObject({ warnings: [expect.stringContaining(ahead)] })
  databaseAhead = DAY / 2
  await sweep()
  expect(await traces.left()).toMatchObject({ job: false, record: false })
})

test('PostgreSQL says which time its clock shows', async () => {
  const store = await openTestStore('', 'postgres')
  const earliest = Date.now()
  const time = await store.databaseTime()
  await store.close()
  expect(time).toBeGreaterThanOrEqual(earliest)
  expect(time).toBeLessThanOrEqual(Date.now())
})

test('while most of the runners contradict our clock nothing is deleted; one of many with a wrong clock is no reason', async () => {
  const setSkew = async (id: number, clock_skew_ms: number) => {
    const change = { connected_node: 'sole', clock_skew_ms }
    await server.store.write('test.skew', (queries) =>
      queries.updateTable('runner').set(change).where('id', '=', id).execute(),
    )
  }
  const runners = [await addRunner(server, 'a'), await addRunner(server, 'b'), await addRunner(server, 'c')]
  for (const [index, { id }] of runners.entries()) await setSkew(id, index === 0 ? 0 : -3 * DAY)
  const traces = await leaveTraces()
  await work(45)
  expect(await traces.left()).toEqual(ALL)
  const most = '3 days ahead of those of most runners that are connected (2 of 3)'
  expect(await ready()).toMatchObject({ warnings: [expect.stringContaining(most)] })
  await setSkew(runners[1]?.id ?? 0, 0)
  await sweep()
  expect(await traces.left()).toMatchObject({ job: false, record: false })
})
