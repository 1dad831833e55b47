import { expect, test } from 'vitest'
import { readOutput } from '../../control-plane/src/store/jobs/job-output.js'
import {
  appendServiceLine,
  appendToStreams,
  findStreamLengths,
  resetStreams,
} from '../../control-plane/src/store/jobs/job-streams.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { queuedJob } from '../runners/queued-job.js'
import { openTestStore } from '../support/test-database.js'
import { KINDS, temporaryFolder } from './nodes.js'

const NOTHING = { output: 0, events: 0, eventsCount: 0 }

test.each(KINDS)('a writer that does not know what another stored is told so and stores nothing: %s', async (kind) => {
  const folder = await temporaryFolder()
  const store = await openTestStore(folder.path, kind)
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
  await folder.remove()
})

test.each(KINDS)('streams that are sent again are shown without holes and once: %s', async (kind) => {
  const folder = await temporaryFolder()
  const store = await openTestStore(folder.path, kind)
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
  await folder.remove()
})
