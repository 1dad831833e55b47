import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerMessage } from '@holdfast/protocol'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLiveEvents } from '../../control-plane/src/live/live-events.js'
import type { BusListener } from '../../control-plane/src/nodes/bus.js'
import type { BusMessage } from '../../control-plane/src/nodes/messages.js'
import { SOLE_NODE } from '../../control-plane/src/nodes/nodes.js'
import { type Dispatcher, createDispatcher } from '../../control-plane/src/runners/dispatch/dispatcher.js'
import type { RunnerConnection } from '../../control-plane/src/runners/socket/connection.js'
import { readOutput } from '../../control-plane/src/store/jobs/job-output.js'
import { findJob } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { decideOrphan, noteOrphan } from '../../control-plane/src/store/jobs/orphans.js'
import type { Runner } from '../../control-plane/src/store/runners/runners.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { AMPLE } from '../support/ample-limits.js'
import { insertTestRunner } from '../support/runner-rows.js'
import { openTestStore } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'
import { queuedJob } from './queued-job.js'

/** The dispatcher of one node among others: what it does for runners that are here, and whom it tells of the others. */
const RUN = 'a'.repeat(32)
const CAPACITY = { enabled: true, draining: false, maxJobs: 10 }

let folder: string
let store: Store
let runner: Runner
let dispatcher: Dispatcher
let published: BusMessage[]
let listeners: Set<BusListener>
let raised: string[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-dispatcher-'))
  store = await openTestStore(folder)
  runner = await store.write('test', (queries) => insertTestRunner(queries, { name: 'edge' }))
  ;[published, listeners, raised] = [[], new Set(), []]
})
afterEach(async () => {
  await dispatcher.close()
  expect(listeners.size).toBe(0)
  await store.close()
  rmSync(folder, { recursive: true })
})

function start(isShared = true): void {
  const live = createLiveEvents()
  live.subscribe((name) => raised.push(name))
  dispatcher = createDispatcher({
    store,
    live,
    clock: { now: () => Date.now() },
    log: pino({ level: 'silent' }),
    nodes: {
      ...SOLE_NODE,
      id: 'here',
      isShared,
      isAlive: (id) => id !== 'dead',
      bus: {
        ...SOLE_NODE.bus,
        publish: (message) => void published.push(message),
        subscribe(listener) {
          listeners.add(listener)
          return () => void listeners.delete(listener)
        },
      },
    },
    files: {
      manifest: () => Promise.resolve({ sha256: 'a'.repeat(64), json: Buffer.from('{}') }),
      open: () => Promise.resolve(null),
    },
    sealSecrets: () => Promise.resolve(null),
    uploads: { path: '/uploads', read: () => Promise.resolve(null) },
    outputLimitBytes: 1000,
    limits: AMPLE,
    queueMs: 60_000,
    lostMs: 60_000,
  })
}

/** Opens a session of the runner, whose agent has nothing. */
async function openSession(epoch = 1) {
  const sent: ServerMessage[] = []
  await store.write('test', (queries) => queries.updateTable('runner').set({ epoch, connected_node: 'here' }).execute())
  const connection = {
    runnerId: runner.id,
    runnerName: 'edge',
    fingerprint: runner.fingerprint,
    keys: [runner.fingerprint],
    sealingKey: 'key',
    epoch,
    send: (message: ServerMessage) => void sent.push(message),
    pause: () => undefined,
    resume: () => undefined,
    close: () => undefined,
  } as unknown as RunnerConnection
  const session = dispatcher.openSession(connection, CAPACITY)
  session.message({ type: 'inventory', jobs: [] })
  await waitFor('the answer to the list', () => sent.some(({ type }) => type === 'resume'))
  return { session, sent, of: (type: ServerMessage['type']) => sent.filter((message) => message.type === type) }
}

const addJob = (columns: object = {}) =>
  store.write('test', (queries) => insertJob(queries, { ...queuedJob(runner.id, RUN), ...columns }))
const receive = (message: BusMessage) => {
  for (const { received } of listeners) received(message)
}
async function shown(id: number): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of readOutput(store.read, id, 0)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}
const decided = () =>
  store.write('test', async (queries) => {
    const nothing = { service: null, form: null, user_name: null, user_type: null, claimed_at: null }
    const orphan = { runner_id: runner.id, run_id: RUN, job_number: 5, reason: 'other_service' as const, ended: 0 }
    await noteOrphan(queries, { ...orphan, ...nothing, reported_at: 1 })
    await decideOrphan(queries, { runnerId: runner.id, runId: RUN }, 'forget', 'ann')
  })

describe('a runner that is here', () => {
  test('is offered a queued job, and told of an abort and of a decision, and no other node hears of it', async () => {
    start()
    const { session, of } = await openSession()
    const id = await addJob()
    dispatcher.jobQueued(runner.id)
    await waitFor('the offer', () => of('offer').length === 1)
    dispatcher.abortRequested(runner.id, id, RUN)
    expect(of('abort')).toEqual([{ type: 'abort', job_id: id, run_id: RUN }])
    await decided()
    dispatcher.orphansDecided(runner.id)
    await waitFor('the decision', () => of('forget').length === 1)
    expect(published).toEqual([])
    session.closed()
  })

  test('gets the same when another node says so, and nothing that is for another runner', async () => {
    start()
    const { session, of } = await openSession()
    const id = await addJob()
    receive({ topic: 'queued', runner: runner.id })
    await waitFor('the offer', () => of('offer').length === 1)
    receive({ topic: 'abort', runner: runner.id + 1, job: id, run: RUN })
    expect(of('abort')).toEqual([])
    receive({ topic: 'abort', runner: runner.id, job: id, run: RUN })
    expect(of('abort')).toHaveLength(1)
    await decided()
    receive({ topic: 'orphans', runner: runner.id })
    await waitFor('the decision', () => of('forget').length === 1)
    session.closed()
  })

  test('is known by its newest connection, until that ends', async () => {
    start()
    const connections = async () => [...(await dispatcher.connectionsOf([runner.id, 99]))]
    const first = await openSession(1)
    expect(await connections()).toEqual([[runner.id, 1]])
    const second = await openSession(2)
    first.session.closed()
    expect(await connections()).toEqual([[runner.id, 2]])
    raised.length = 0
    second.session.closed()
    expect([await connections(), raised]).toEqual([[], []])
  })

  test('that leaves with a job has the pages of jobs read again', async () => {
    start()
    const { session, of } = await openSession()
    await addJob()
    dispatcher.jobQueued(runner.id)
    await waitFor('the offer', () => of('offer').length === 1)
    raised.length = 0
    session.closed()
    expect(raised).toEqual(['jobs'])
  })
})

describe('a runner that is not here', () => {
  test('is another node’s: it hears of jobs, aborts and decisions', async () => {
    start()
    const id = await addJob()
    dispatcher.jobQueued(runner.id)
    dispatcher.abortRequested(runner.id, id, RUN)
    dispatcher.orphansDecided(runner.id)
    expect(published).toEqual([
      { topic: 'queued', runner: runner.id },
      { topic: 'abort', runner: runner.id, job: id, run: RUN },
      { topic: 'orphans', runner: runner.id },
    ])
    await waitFor('the word about the runner', async () => (await shown(id)) !== '')
    expect(await shown(id)).toBe('Waiting for runner edge, which is not connected\n')
  })

  test.each([
    ['other', true, true],
    ['dead', true, false],
    ['other', false, false],
  ])('is connected at the node %s, where there are other nodes (%s): %s', async (node, isShared, isConnected) => {
    start(isShared)
    await store.write('test', (queries) =>
      queries.updateTable('runner').set({ epoch: 8, connected_node: node }).execute(),
    )
    expect([...(await dispatcher.connectionsOf([runner.id]))]).toEqual(isConnected ? [[runner.id, 8]] : [])
  })

  test('and whose words may have been missed is looked after at once', async () => {
    start()
    const id = await addJob()
    for (const { missed } of listeners) missed()
    await waitFor('the word about the runner', async () => (await shown(id)).includes('which is not connected'))
  })
})

test('the running jobs of a revoked runner are abandoned', async () => {
  start()
  const id = await addJob({ dispatch: 'claimed', runner_key: runner.fingerprint })
  await dispatcher.revoked(runner.id)
  expect(await findJob(store.read, id)).toMatchObject({
    status: 'abandoned',
    status_reason: 'an admin revoked the runner while the job ran',
  })
  expect(raised).toContain('jobs')
})
