import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerMessage, StreamFrame } from '@holdfast/protocol'
import pino from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { JobWriter } from '../../control-plane/src/runners/streams/job-writer.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { openTestStore } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'
import { queuedJob } from './queued-job.js'
import { AMPLE } from '../support/ample-limits.js'

const COMMIT_MS = 250

let folder: string
let store: Store
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-meters-'))
  store = await openTestStore(folder)
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

test('stored bytes are counted once, and the time of an acknowledgement begins when its oldest piece arrives', async () => {
  const jobId = await store.write('test', (queries) => insertJob(queries, queuedJob(1)))
  let time = 0
  const slow: Store = {
    ...store,
    async write(name, operation) {
      const result = await store.write(name, operation)
      time += COMMIT_MS
      return result
    },
  }
  const acks: ServerMessage[] = []
  const stored: object[] = []
  const seconds: number[] = []
  const writer = new JobWriter(
    jobId,
    'r',
    { output: 0, events: 0, eventsCount: 0 },
    {
      store: slow,
      clock: { now: () => time },
      log: pino({ level: 'silent' }),
      send: (message) => void acks.push(message),
      released: () => undefined,
      limits: AMPLE,
      changed: () => undefined,
      missing: () => undefined,
      ended: () => undefined,
      meters: { stored: (piece) => void stored.push(piece), acknowledged: (one) => void seconds.push(one) },
    },
  )
  const frame = (offset: number, text: string): StreamFrame => ({
    jobId,
    kind: 'stream',
    stream: 'output',
    epoch: 1,
    offset,
    payload: Buffer.from(text),
    final: false,
  })

  writer.take(frame(0, 'hello '))
  await waitFor('the first acknowledgement', () => acks.length === 1)
  // What comes again is no news, and what comes later did not wait for it.
  writer.take(frame(0, 'hello '))
  time += 60_000
  writer.take(frame(6, 'world'))
  await waitFor('the second acknowledgement', () => acks.length === 2)

  expect(stored).toEqual([
    { output: 6, events: 0, eventsCount: 0 },
    { output: 5, events: 0, eventsCount: 0 },
  ])
  expect(seconds).toEqual([COMMIT_MS / 1000, COMMIT_MS / 1000])
  writer.close()
})
