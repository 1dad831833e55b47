import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { ServerMessage } from '@holdfast/protocol'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type SealJobSecrets, SecretsProblem } from '../../control-plane/src/credentials/job/sealing.js'
import { createLiveEvents } from '../../control-plane/src/live/live-events.js'
import type { RunnerConnection } from '../../control-plane/src/runners/socket/connection.js'
import { JobSession } from '../../control-plane/src/runners/dispatch/job-session.js'
import { OFFER_TIMEOUT_MS } from '../../control-plane/src/runners/offers/offer-watch.js'
import type { PlaybookFiles } from '../../control-plane/src/runners/files/playbook-files.js'
import { readOutput } from '../../control-plane/src/store/jobs/job-output.js'
import { findJob, moveJob, requestAbort } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { insertUpload, linkJobFiles } from '../../control-plane/src/store/uploads/uploads.js'
import type { UploadFolder } from '../../control-plane/src/uploads/upload-folder.js'
import { openTestStore } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'
import { queuedJob } from './queued-job.js'
import { AMPLE } from '../support/ample-limits.js'

/** One connection's job traffic over a real database; the test says what the agent says. */
const RUNNER = 7
const MANIFEST = { sha256: 'a'.repeat(64), json: Buffer.from('{}'), leftOut: [] }

let folder: string
let store: Store
let files: PlaybookFiles
let sent: ServerMessage[]
let sealSecrets: SealJobSecrets
/** What a close of the connection said. */
let closings: string[]
let logged: string[]
/** Moves the clock by which patience is measured. */
let later = 0
let blobsSent: Promise<void> = Promise.resolve()
let readUpload: UploadFolder['read']
/** How often the session stopped reading from the connection. */
let pauses = 0

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-session-'))
  store = await openTestStore(folder)
  files = { manifest: () => Promise.resolve(MANIFEST), open: () => Promise.resolve(null) }
  sent = []
  sealSecrets = () => Promise.resolve(null)
  closings = []
  logged = []
  later = 0
  blobsSent = Promise.resolve()
  readUpload = () => Promise.resolve(null)
  pauses = 0
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
    fingerprint: 'SHA256:seven',
    keys: ['SHA256:seven'],
    sealingKey: 'the sealing key',
    epoch: 1,
    send: (message) => void sent.push(message),
    sendBlob: () => blobsSent,
    pause: () => void (pauses += 1),
    resume: () => undefined,
    close: (reason, text) => void closings.push(`${reason}: ${text}`),
  }
  const capacity = { enabled: true, draining: false, maxJobs: 10 }
  return new JobSession(connection, capacity, {
    store,
    clock: { now: () => Date.now() },
    steady: { now: () => Date.now() + later },
    live: createLiveEvents(),
    log: pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }),
    files,
    sealSecrets: (...asked) => sealSecrets(...asked),
    uploads: { path: '/uploads', read: (...asked) => readUpload(...asked) },
    outputLimitBytes: 1000,
    limits: AMPLE,
    queueMs: 60_000,
    closed: () => undefined,
  })
}

async function offered(jobId: number): Promise<void> {
  await waitFor('the offer', () => sent.some((message) => message.type === 'offer' && message.order.job_id === jobId))
}

/** A session whose agent has nothing in its spool, when it was offered a job. */
async function openOffered(jobId: number): Promise<JobSession> {
  const session = openSession()
  session.message({ type: 'inventory', jobs: [] })
  await offered(jobId)
  return session
}

/** The agent has never had the run that it is asked about. */
async function neverHeard(session: JobSession, jobId: number): Promise<void> {
  await waitFor('the question', () => sentOf('recall').length > 0)
  session.message({ type: 'recalled', job_id: jobId, run_id: RUN_ID, known: false, record: null })
}

/** While files are on their way an offer may wait for hours; once `arrive` has ended that, its time counts. */
async function expectPatienceUntil(arrive: () => void, session: JobSession): Promise<void> {
  for (const _hour of [1, 2, 3]) {
    later += 3_600_000
    session.checkOffers()
  }
  expect(closings).toEqual([])
  arrive()
  await waitFor('the connection to be closed', () => {
    later += OFFER_TIMEOUT_MS
    session.checkOffers()
    return closings.length > 0
  })
  session.closed()
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
    const session = await openOffered(jobId)
    await store.write('test', (queries) => requestAbort(queries, jobId, 'ann'))
    session.message({ type: 'refused', job_id: jobId, run_id: RUN_ID, code: 'busy', message: 'full' })
    await waitFor('the end', async () => (await findJob(store.read, jobId))?.status === 'aborted')
    session.closed()
  })

  test('a job that is refused again and again says only once that it waits', async () => {
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
    expect(await shown(jobId)).toBe('Waiting for a free slot on runner seven\n')
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
    await neverHeard(second, jobId)
    await waitFor('the end', async () => (await findJob(store.read, jobId))?.status === 'failed')
    expect(await findJob(store.read, jobId)).toMatchObject({ dispatch: 'done', abandoned_at: 5 })
    second.closed()
  })

  test('a job whose secrets cannot be opened fails with that reason, is not offered, and delays no other job', async () => {
    const lost = await addJob()
    const good = await store.write('test', (queries) => insertJob(queries, queuedJob(RUNNER, '2'.repeat(32))))
    sealSecrets = (_, { jobId }) =>
      jobId === lost ? Promise.reject(new SecretsProblem("There is no credential 'x'")) : Promise.resolve('sealed')
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    await offered(good)
    expect(await findJob(store.read, lost)).toMatchObject({
      status: 'failed',
      status_reason: "There is no credential 'x'",
    })
    expect(await shown(lost)).toBe("[ERROR]: There is no credential 'x'\n")
    expect(sentOf('offer')).toMatchObject([{ order: { job_id: good, sealed: 'sealed' } }])
    session.closed()
  })

  test('the image of a job is in its order', async () => {
    const image = { executionImage: 'team/ansible:1' }
    const plain = await store.write('test', async (queries) => {
      await insertJob(queries, queuedJob(RUNNER, RUN_ID, image))
      return insertJob(queries, queuedJob(RUNNER, '2'.repeat(32)))
    })
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    await offered(plain)
    const orders = sentOf('offer').map((message) => ('order' in message ? message.order : null))
    expect(orders.map((order) => order?.image)).toEqual([image.executionImage, null])
    session.closed()
  })

  test('secrets are sealed for this runner and this run', async () => {
    const jobId = await addJob()
    const asked: unknown[] = []
    sealSecrets = (_, target) => {
      asked.push(target)
      return Promise.resolve(null)
    }
    const session = await openOffered(jobId)
    expect(asked).toEqual([{ jobId, runId: RUN_ID, fingerprint: 'SHA256:seven', sealingKey: 'the sealing key' }])
    session.closed()
  })

  test('jobs go back to their places when the store fails while their secrets are read, and are offered later', async () => {
    const jobId = await addJob()
    let fails = true
    let tries = 0
    sealSecrets = () => {
      tries += 1
      return fails ? Promise.reject(new Error('the database is away')) : Promise.resolve(null)
    }
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    await waitFor(
      'the job to be back',
      async () => tries > 0 && (await findJob(store.read, jobId))?.dispatch === 'queued',
    )
    expect((await findJob(store.read, jobId))?.status).toBe('running')
    fails = false
    session.capacityChanged({ enabled: true, draining: false, maxJobs: 11 })
    await offered(jobId)
    session.closed()
  })

  test('a wanted file that cannot be read is reported as gone', async () => {
    files = { ...files, open: () => Promise.reject(new Error('EACCES')) }
    const jobId = await addJob()
    const session = await openOffered(jobId)
    const hashes = ['b'.repeat(64), 'c'.repeat(64)]
    session.message({ type: 'want', job_id: jobId, run_id: RUN_ID, hashes })
    await waitFor('both answers', () => sentOf('blob_gone').length === 2)
    session.closed()
  })

  test('messages that were handled do not count as waiting: a long connection is always read', async () => {
    const jobId = await addJob()
    const session = await openOffered(jobId)
    // More than may wait at once.
    for (let handled = 100; handled <= 600; handled += 100) {
      const hashes = ['b'.repeat(64)]
      for (let one = 0; one < 100; one += 1) session.message({ type: 'want', job_id: jobId, run_id: RUN_ID, hashes })
      await waitFor('the answers', () => sentOf('blob_gone').length === handled)
    }
    expect([pauses, closings]).toEqual([0, []])
    session.closed()
  })

  test('an offer without an answer ends the connection, and the next inventory decides about the job', async () => {
    const jobId = await addJob()
    const session = await openOffered(jobId)
    session.checkOffers()
    expect(closings).toEqual([])
    later += OFFER_TIMEOUT_MS + 1000
    session.checkOffers()
    expect(closings).toEqual([`internal_error: the runner gives no answer to the offer of job ${jobId}`])
    session.closed()
    const next = openSession()
    next.message({ type: 'inventory', jobs: [] })
    await neverHeard(next, jobId)
    await waitFor('the next offer', () => sentOf('offer').length === 2)
    next.message({ type: 'claimed', job_id: jobId, run_id: RUN_ID })
    later += OFFER_TIMEOUT_MS + 1000
    next.checkOffers()
    expect(closings).toHaveLength(1)
    next.closed()
  })

  test('an offer that the database knows and the connection does not ends the connection', async () => {
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    await waitFor('the warning', () => {
      session.checkOffered([99])
      return logged.some((line) => line.includes('a job is offered and nobody offers it'))
    })
    expect(closings).toEqual(['internal_error: nobody knows of the offer of job 99'])
    session.closed()
  })

  test('an offer is not overdue while its files are on their way', async () => {
    let arrive: () => void = () => undefined
    blobsSent = new Promise((resolve) => (arrive = resolve))
    let isAsked = false
    const open = () => {
      isAsked = true
      return Promise.resolve({ size: 0, content: Readable.from([]) })
    }
    files = { ...files, open }
    const jobId = await addJob()
    const session = await openOffered(jobId)
    session.message({ type: 'want', job_id: jobId, run_id: RUN_ID, hashes: ['b'.repeat(64), 'c'.repeat(64)] })
    await waitFor('the file to be opened', () => isAsked)
    await expectPatienceUntil(() => arrive(), session)
  })

  test('an offer is not overdue while an upload of its job is on its way', async () => {
    let arrive: () => void = () => undefined
    blobsSent = new Promise((resolve) => (arrive = resolve))
    let isAsked = false
    readUpload = () => {
      isAsked = true
      return Promise.resolve(Readable.from([]))
    }
    const jobId = await addJob()
    const sha256 = 'd'.repeat(64)
    await store.write('test', async (queries) => {
      const names = { stored_name: 'e'.repeat(32), original_name: 'a.iso', mime_type: 'x/y', encoding: '7bit' }
      const owner = { owner_id: 1, owner_name: 'ann', owner_type: 'local' }
      const uploadId = await insertUpload(queries, { ...names, ...owner, size: 5, sha256, created_at: 1, used: 0 })
      await linkJobFiles(queries, jobId, [{ field: 'image', uploadId }])
    })
    const session = await openOffered(jobId)
    later += OFFER_TIMEOUT_MS
    session.message({ type: 'want_upload', job_id: jobId, run_id: RUN_ID, sha256, offset: 0 })
    await waitFor('the upload to be opened', () => isAsked)
    await expectPatienceUntil(() => arrive(), session)
  })

  test('a claimed job that the agent does not know ends as lost', async () => {
    const jobId = await addJob()
    const session = await openOffered(jobId)
    session.message({ type: 'claimed', job_id: jobId, run_id: RUN_ID })
    session.message({ type: 'unknown_job', job_id: jobId, run_id: RUN_ID })
    await waitFor('the end', async () => (await findJob(store.read, jobId))?.status === 'failed')
    expect((await findJob(store.read, jobId))?.status_reason).toMatch(
      /claimed the job and says that it has never heard of it/,
    )
    session.closed()
  })

  test('the end of a run that was not asked about, or of another run, breaks the contract', async () => {
    const jobId = await addJob()
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    session.message({ type: 'recalled', job_id: jobId, run_id: RUN_ID, known: false, record: null })
    await waitFor('the connection to be closed', () => closings.length > 0)
    expect(closings).toEqual([`not_yours: job ${jobId} is not one that was asked about`])
    expect((await findJob(store.read, jobId))?.status).toBe('running')
    session.closed()
  })

  test('a second inventory breaks the contract', () => {
    const session = openSession()
    session.message({ type: 'inventory', jobs: [] })
    expect(() => session.message({ type: 'inventory', jobs: [] })).toThrow(/second inventory/)
    session.closed()
  })
})
