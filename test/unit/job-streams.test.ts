import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { StreamIntake } from '../../control-plane/src/runners/stream-intake.js'
import { readOutput } from '../../control-plane/src/store/job-output.js'
import {
  appendServiceLine,
  appendToStreams,
  findStreamLengths,
  resetStreams,
} from '../../control-plane/src/store/job-streams.js'
import { insertJob } from '../../control-plane/src/store/jobs.js'
import { openSqliteStore } from '../../control-plane/src/store/sqlite-store.js'
import { queuedJob } from '../runners/queued-job.js'

const NOTHING = { output: 0, events: 0, eventsCount: 0 }

test('a writer that does not know what another one stored is told so and stores nothing, also of events', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-streams-'))
  const store = await openSqliteStore(join(folder, 'holdfast.db'))
  const append = (jobId: number) =>
    store.write('test', (queries) => {
      const event = {
        type: 't',
        play: null,
        task: null,
        host: null,
        duration: null,
        time: 'now',
        line: Buffer.from('{}\n'),
      }
      return appendToStreams(queries, jobId, NOTHING, Buffer.from('ab'), [event])
    })
  const jobId = await store.write('test', (queries) => insertJob(queries, queuedJob(1)))
  expect(await append(jobId)).toEqual({ output: 2, events: 3, eventsCount: 1 })
  expect(await append(jobId)).toBeNull()
  expect(await append(jobId + 1)).toBeNull()
  expect(await findStreamLengths(store.read, jobId)).toEqual({ output: 2, events: 3, eventsCount: 1 })
  await store.close()
  await rm(folder, { recursive: true })
})

test('streams that are sent again are shown without holes and once, from every offset', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-streams-'))
  const store = await openSqliteStore(join(folder, 'holdfast.db'))
  const jobId = await store.write('test', (queries) => insertJob(queries, queuedJob(1)))
  const append = (text: string) =>
    store.write('test', (queries) => appendToStreams(queries, jobId, NOTHING, Buffer.from(text), []))
  const shown = async (offset: number) => {
    const pieces: Buffer[] = []
    for await (const piece of readOutput(store.read, jobId, offset)) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  }
  await append('wrong\n')
  await store.write('test', (queries) => appendServiceLine(queries, jobId, 'a word'))
  await store.write('test', (queries) => resetStreams(queries, jobId))
  await append('right\n')
  const whole = 'a word\nright\n'
  for (let offset = 0; offset <= whole.length; offset += 1) expect(await shown(offset)).toBe(whole.slice(offset))
  await store.close()
  await rm(folder, { recursive: true })
})

test('what is committed is not counted twice while its writer still is at work', () => {
  const intake = new StreamIntake(NOTHING, () => 0)
  const frame = (text: string, offset: number) =>
    ({
      kind: 'stream',
      stream: 'output',
      final: false,
      epoch: 1,
      jobId: 1,
      offset,
      payload: Buffer.from(text),
    }) as const
  intake.take(frame('abc', 0))
  const batch = intake.batch()
  intake.writing = batch
  intake.committed(batch, { output: 3, events: 0, eventsCount: 0 })
  intake.take(frame('def', 3))
  expect(intake.batch().output.toString()).toBe('def')
})
