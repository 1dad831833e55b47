import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { appendServiceLine } from '../../../control-plane/src/store/jobs/job-streams.js'
import { createJobRetention } from '../../../control-plane/src/jobs/end/retention.js'
import { JOB_STATUSES, type JobStatus } from '../../../control-plane/src/words/job-status.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { agesBy } from '../../support/ages.js'
import { waitFor } from '../../support/wait.js'
import { heldTimers } from '../held-timers.js'
import { putJob } from '../job-rows.js'
import { type TestServer, startServer } from '../server.js'
import { stored, upload } from '../upload-client.js'

/** JOB_RETENTION_DAYS: jobs that ended long ago are deleted, and no others. */
const DAY_MS = 24 * 60 * 60_000

let server: TestServer
beforeAll(async () => {
  const form = '{name: f, playbook: p.yml, roles: [default], fields: [{name: cert, type: file}]}'
  server = await startServer({ forms: { 'f.yml': form } })
})
afterAll(() => server.close())

const said: object[] = []
const log = { info: (fields: object) => void said.push(fields), warn: (fields: object) => void said.push(fields) }
const held = heldTimers()

function start(keepDays: number | null, store: Store = server.store) {
  return createJobRetention({
    store,
    live: server.parts.live,
    clock: server.clock,
    ages: agesBy(server.clock),
    timers: held.timers,
    log,
    uploads: server.parts.uploads.sweeper,
    keepMs: keepDays === null ? null : keepDays * DAY_MS,
  })
}
const daysAgo = (days: number) => server.clock.now() - days * DAY_MS
const endedDaysAgo = (days: number, more: Parameters<typeof putJob>[1] = {}) =>
  putJob(server, { end_time: daysAgo(days), ...more })
const left = async () => {
  const rows = await server.store.read.selectFrom('job').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

test('one sweep deletes what is old, also a job that is larger than one write may be', async () => {
  const large = await endedDaysAgo(9)
  await endedDaysAgo(8)
  await server.store.write('test.large', (queries) =>
    queries.updateTable('job_stream').set({ events_count: 1_000_000 }).where('job_id', '=', large).execute(),
  )
  const retention = start(7)
  await retention.sweep()
  expect(await left()).toEqual([])
  await retention.close()
  said.splice(0)
})

test('old jobs are deleted at the start and every day; jobs that run or wait stay, however old they are', async () => {
  const busy = new Set<JobStatus>(['running', 'approve'])
  const ended = JOB_STATUSES.filter((status) => !busy.has(status))
  for (const status of ended) await endedDaysAgo(8, { status })
  const young = await endedDaysAgo(6)
  const unfinished = await Promise.all(
    [...busy].map((status) => putJob(server, { status, end_time: null, start_time: 1 })),
  )
  const raised: string[] = []
  const stop = server.parts.live.subscribe((name) => void raised.push(name))
  const retention = start(7)
  await waitFor('the first sweep', async () => (await left()).length === 3)
  expect(new Set(await left())).toEqual(new Set([young, ...unfinished]))
  server.clock.move(2 * DAY_MS)
  held.move(DAY_MS)
  await waitFor('the next sweep', async () => (await left()).length === 2)
  await retention.close()
  stop()
  expect(new Set(await left())).toEqual(new Set(unfinished))
  expect(raised).toContain('jobs')
  expect(said.splice(0)).toEqual([{ jobs: ended.length }, { jobs: 1 }])
})

test('a job is deleted with its child jobs and uploads, also when these are older', async () => {
  const { token } = await server.signIn('admin')
  const cert = await upload(server, 'a.pem', 'content', token)
  const launched = await server.call('POST', '/job', {
    token,
    json: { formName: 'f', rawFormData: {}, files: { cert } },
  })
  const id = Number(launched.body.id)
  const parts = [await endedDaysAgo(0, { parent_id: id }), await endedDaysAgo(3, { parent_id: id })]
  const retention = start(1)
  await retention.sweep()
  // A part that is old does not go without its whole.
  expect(await left()).toEqual(expect.arrayContaining([id, ...parts]))
  server.clock.move(2 * DAY_MS)
  await retention.sweep()
  for (const gone of [id, ...parts]) expect(await left()).not.toContain(gone)
  await waitFor('the upload to go', () => !stored(server).includes(String(cert.filename)))
  await retention.close()
})

describe('many jobs', () => {
  test('are deleted in small writes, so that others get their turn; a large one is deleted alone', async () => {
    const many = await Promise.all(Array.from({ length: 250 }, () => endedDaysAgo(9)))
    const large = await endedDaysAgo(9)
    const columns = { events_count: 1_000_000 }
    await server.store.write('test.large', async (queries) => {
      await appendServiceLine(queries, large, 'a line')
      await queries.updateTable('job_stream').set(columns).where('job_id', '=', large).execute()
    })
    const before = (await left()).length
    const removed: number[] = []
    const counting: Store = {
      ...server.store,
      async write(name, operation) {
        const result = await server.store.write(name, operation)
        removed.push(Number(result))
        return result
      },
    }
    const retention = start(null, counting)
    await retention.close()
    const sweeping = start(7, counting)
    await waitFor('all to go', async () => (await left()).length === before - many.length - 1)
    await sweeping.close()
    expect(removed.reduce((sum, count) => sum + count, 0)).toBe(251)
    expect(Math.max(...removed)).toBeLessThanOrEqual(100)
    expect(removed).toContain(1)
  })
})

test('a job whose real outcome comes during the sweep has a new end, and stays', async () => {
  const id = await endedDaysAgo(9, { status: 'abandoned' })
  const late: Store = {
    ...server.store,
    async write(name, operation) {
      await server.store.write('test.outcome', (queries) =>
        queries
          .updateTable('job')
          .set({ status: 'success', end_time: server.clock.now() })
          .where('id', '=', id)
          .execute(),
      )
      return server.store.write(name, operation)
    },
  }
  const retention = start(7, late)
  await retention.close()
  const again = start(7, late)
  await again.sweep()
  await again.close()
  expect(await left()).toContain(id)
})

test('0 keeps them for ever', async () => {
  const id = await endedDaysAgo(30_000)
  const retention = start(null)
  await retention.sweep()
  await retention.close()
  expect(await left()).toContain(id)
})
