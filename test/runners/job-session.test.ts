import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerMessage } from '@holdfast/protocol'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLiveEvents } from '../../control-plane/src/live/live-events.js'
import type { RunnerConnection } from '../../control-plane/src/runners/connection.js'
import { JobSession } from '../../control-plane/src/runners/job-session.js'
import type { PlaybookFiles } from '../../control-plane/src/runners/playbook-files.js'
import { readOutput } from '../../control-plane/src/store/job-output.js'
import { findJob, insertJob, moveJob, requestAbort } from '../../control-plane/src/store/jobs.js'
import { openSqliteStore } from '../../control-plane/src/store/sqlite-store.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { waitFor } from '../support/wait.js'
import { queuedJob } from './queued-job.js'

/** One connection's job traffic over a real database; the test says what the agent says. */
const RUNNER = 7
const MANIFEST = { sha256: 'a'.repeat(64), json: Buffer.from('{}') }

let folder: string
let store: Store
let files: PlaybookFiles
let sent: ServerMessage[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-session-'))
  store = await openSqliteStore(join(folder, 'test.db'))
  files = { manifest: () => Promise.resolve(MANIFEST), open: () => Promise.resolve(null) }
  sent = []
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const RUN_ID = '1'.repeat(32)
const sentOf = (type: ServerMessage['type']) => sent.filter((message) => message.type === type)

function addJob(): Promise<number> {
  return store.write('test', (queries) => insertJob(queries, queuedJob(RUNNER, RUN_ID)))
}

function openSession(): JobSession {
  const connection: RunnerConnection = {
    runnerId: RUNNER,
    runnerName: 'seven',
    epoch: 1,
    send: (message) => void sent.push(message),
    sendBlob: () => Promise.resolve(),
    pause: () => undefined,
    resume: () => undefined,
    close: () => undefined,
  }
  const capacity = { enabled: true, draining: false, maxJobs: 10 }
  return new JobSession(connection, capacity, {
    store,
    clock: { now: () => Date.now() },
    live: createLiveEvents(),
    log: pino({ level: 'silent' }),
    files,
    uploads: { path: '/uploads', read: () => Promise.resolve(null) },
    outputLimitBytes: 1000,
    queueMs: 60_000,
    closed: () => undefined,
  })
}

async function offered(jobId: number): Promise<void> {
  await waitFor('the offer', () => sent.some((message) => message.type === 'offer' && message.order.job_id === jobId))
}

async function shown(jobId: number): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of readOutput(store.read, jobId, 0)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

describe('the job traffic of a connection', () => {
  test('an abort that comes before the offer is sent reaches the agent right after it', async () => {
    let letGo: (manifest: typeof MANIFEST) => void = () => undefined
    files = { ...files, manifest: () => new Promise((resolve) => (letGo = resolve)) }
    const jobId = await addJob()
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    await waitFor('the job to be taken', async () => (await findJob(store.read, jobId))?.dispatch === 'offered')
    await store.write('test', (queries) => requestAbort(queries, jobId, 'ann'))
    session.abort(jobId, RUN_ID)
    letGo(MANIFEST)
    await waitFor('the abort', () => sentOf('abort').length > 0)
    expect(sent.map((message) => message.type)).toEqual(['resume', 'offer', 'abort'])
    session.closed()
  })

  test('a refused job whose abort was asked for ends instead of being offered again', async () => {
    const jobId = await addJob()
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    await offered(jobId)
    await store.write('test', (queries) => requestAbort(queries, jobId, 'ann'))
    session.message({ type: 'refused', job_id: jobId, run_id: RUN_ID, code: 'busy', message: 'full' })
    await waitFor('the end', async () => (await findJob(store.read, jobId))?.status === 'aborted')
    session.closed()
  })

  test('a job that is refused again and again says once that it waits', async () => {
    const jobId = await addJob()
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    for (const round of [1, 2, 3]) {
      await waitFor('the offer', () => sentOf('offer').length === round)
      session.message({ type: 'refused', job_id: jobId, run_id: RUN_ID, code: 'busy', message: 'full' })
      await waitFor('the job to wait', async () => {
        const job = await findJob(store.read, jobId)
        return job?.dispatch === 'queued' && (await shown(jobId)) !== ''
      })
      session.capacityChanged({ enabled: true, draining: false, maxJobs: 10 + round })
    }
    await waitFor('the offer', () => sentOf('offer').length === 4)
    expect(await shown(jobId)).toBe('Waiting for a free slot on RTE seven\n')
    session.closed()
  })

  test('a job that was given up before its runner claimed it ends as failed when the runner is back', async () => {
    const jobId = await addJob()
    const first = openSession()
    first.message({ type: 'inventory', jobs: [] })
    await offered(jobId)
    first.closed()
    await store.write('test', (queries) =>
      moveJob(queries, jobId, {
        from: ['running'],
        to: 'abandoned',
        time: 5,
        reason: 'silent',
        changes: { abandoned_at: 5 },
      }),
    )
    const second = openSession()
    second.message({ type: 'inventory', jobs: [] })
    await waitFor('the end', async () => (await findJob(store.read, jobId))?.status === 'failed')
    expect(await findJob(store.read, jobId)).toMatchObject({ dispatch: 'done', abandoned_at: 5 })
    second.closed()
  })

  test('a wanted file that cannot be read is said to be gone', async () => {
    files = { ...files, open: () => Promise.reject(new Error('EACCES')) }
    const jobId = await addJob()
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    await offered(jobId)
    const hashes = ['b'.repeat(64), 'c'.repeat(64)]
    session.message({ type: 'want', job_id: jobId, run_id: RUN_ID, hashes })
    await waitFor('both answers', () => sentOf('blob_gone').length === 2)
    session.closed()
  })

  test('a second inventory breaks the contract', () => {
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    expect(() => session.message({ type: 'inventory', jobs: [] })).toThrow(/second inventory/)
    session.closed()
  })
})
