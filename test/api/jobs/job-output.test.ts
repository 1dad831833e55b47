import { afterAll, beforeAll, expect, test } from 'vitest'
import { copyOutput } from '../../../control-plane/src/store/jobs/job-output.js'
import { appendServiceLine, appendToStreams, resetStreams } from '../../../control-plane/src/store/jobs/job-streams.js'
import { moveJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { covers } from '../../interface/covers.js'
import { putJob } from '../job-rows.js'
import { type TestServer, startServer } from '../server.js'

const BLOCK = 64 * 1024

let server: TestServer
let ann: string
beforeAll(async () => {
  server = await startServer({ settings: { EVENT_STREAMS_PER_SESSION: '8' } })
  ann = (await server.addUser('ann')).token
})
afterAll(() => server.close())

const RUNNING = { status: 'running', dispatch: 'claimed', end_time: null } as const

/** Bytes with lines of many lengths, the same at each call. */
function text(bytes: number): Buffer {
  const data = Buffer.alloc(bytes, 'x')
  for (let at = 7, step = 1; at < bytes; step = (step * 31) % 997, at += step + 1) data[at] = 0x0a
  return data
}

/** Appends output as a runner does. */
async function print(id: number, data: Buffer): Promise<void> {
  await server.store.write('test.print', async (queries) => {
    const row = await queries.selectFrom('job_stream').selectAll().where('job_id', '=', id).executeTakeFirstOrThrow()
    const stored = { output: row.output_length, events: row.events_length, eventsCount: row.events_count }
    expect(await appendToStreams(queries, id, stored, data, [])).not.toBeNull()
  })
}

function end(id: number): Promise<boolean> {
  const changes = { end_time: 9, dispatch: 'done' } as const
  return server.store.write('test.end', (queries) =>
    moveJob(queries, id, { from: ['running'], to: 'success', time: 9, reason: null, changes }),
  )
}

async function output(id: number, query = '', headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/api/v2/job/${id}/output${query}`, {
    headers: { authorization: `Bearer ${ann}`, ...headers },
  })
  return {
    response,
    bytes: Buffer.from(await response.arrayBuffer()),
    header: (name: string) => response.headers.get(name),
  }
}

/** Follows a job; gives what has come so far, and waits for more. */
async function follow(id: number, offset: number) {
  const leave = new AbortController()
  const response = await fetch(`${server.url}/api/v2/job/${id}/output?follow=true&offset=${offset}`, {
    headers: { authorization: `Bearer ${ann}` },
    signal: leave.signal,
  })
  const reader = response.body?.getReader()
  if (!reader) throw new Error('there is no body')
  let bytes = Buffer.alloc(0)
  /** False at the end. */
  const more = async () => {
    const { done, value } = await reader.read()
    if (value) bytes = Buffer.concat([bytes, value])
    return !done
  }
  return {
    response,
    leave: () => leave.abort(),
    async upTo(length: number) {
      while (bytes.length < length && (await more()));
      return bytes
    },
    async toEnd() {
      while (await more());
      return bytes
    },
  }
}

test('a part of the output has the asked bytes, and says how long it is and whether more may come', async () => {
  covers('endpoint.output-parts')
  const id = await putJob(server, RUNNING)
  const data = text(3000)
  await print(id, data)
  const part = await output(id, '?offset=1000&limit=500')
  expect(part.bytes).toEqual(data.subarray(1000, 1500))
  expect(['x-next-offset', 'x-output-length', 'x-output-open', 'x-output-generation'].map(part.header)).toEqual([
    '1500',
    '3000',
    'true',
    '0',
  ])
  await end(id)
  expect((await output(id, '?offset=3000')).header('x-output-open')).toBe('false')
  expect((await output(id, '?limit=0')).response.status).toBe(400)
  expect((await output(id, '?limit=1')).bytes).toEqual(data.subarray(0, 1))
})

test.each([
  ['bytes=100-199', 100, 200],
  ['bytes=7-7', 7, 8],
  ['bytes=2900-', 2900, 3000],
  ['bytes=-50', 2950, 3000],
  ['bytes=2999-9999', 2999, 3000],
])('Range: %s answers just these bytes', async (range, from, to) => {
  covers('endpoint.output-parts')
  const id = await putJob(server)
  const data = text(3000)
  await print(id, data)
  const part = await output(id, '', { range })
  expect([part.response.status, part.header('content-range')]).toEqual([206, `bytes ${from}-${to - 1}/3000`])
  expect(part.bytes).toEqual(data.subarray(from, to))
  // What is no single range counts as none; what begins behind the end is refused.
  for (const none of ['bytes=1-2,5-6', 'bytes=8-7', 'bytes=-', 'lines=1-2'])
    expect((await output(id, '', { range: none })).response.status).toBe(200)
  expect((await output(id, '', { range: 'bytes=3000-' })).response.status).toBe(416)
})

test('the index has the line ends before each 64 KiB, whether the writer or a reader counted them', async () => {
  covers('endpoint.output-index')
  const id = await putJob(server)
  const data = text(5 * BLOCK + 77)
  for (let at = 0; at < data.length; at += 50_001) await print(id, data.subarray(at, at + 50_001))
  await server.store.write('test.line', (queries) => appendServiceLine(queries, id, 'a line of the service'))
  const { bytes } = await output(id)
  const before = (byte: number) => bytes.subarray(0, byte).filter((one) => one === 0x0a).length
  const wanted = [0, 1, 2, 3, 4, 5].map((block) => [block * BLOCK, before(block * BLOCK)])
  const index = async (job: number, query = '') =>
    (await server.call('GET', `/job/${job}/output/index${query}`, { token: ann })).body
  const whole = { bytes: bytes.length, lines: before(bytes.length), step: BLOCK, generation: 0 }
  const runOf = async (job: number) => ({ run_id: (await output(job)).header('x-run-id') })
  expect(await index(id)).toEqual({ ...whole, ...(await runOf(id)), points: wanted })
  expect((await index(id, `?after=${3 * BLOCK}`)).points).toEqual(wanted.slice(4))
  // Copied output was not counted when it was stored.
  const copy = await putJob(server)
  await server.store.write('test.copy', (queries) => copyOutput(queries, id, copy, 1e9))
  expect(await index(copy)).toEqual({ ...whole, ...(await runOf(copy)), points: wanted })
  await print(copy, Buffer.from('more\n'))
  expect(await index(copy)).toMatchObject({ bytes: bytes.length + 5, lines: whole.lines + 1 })
})

test('a follower gets every byte once and in order, until the job has ended', async () => {
  covers('endpoint.output-follow')
  const id = await putJob(server, RUNNING)
  // More than is kept for viewers, so that the first one begins behind it.
  const data = text(3 * 1024 * 1024)
  const half = data.length / 2
  await print(id, data.subarray(0, half))
  const viewers = await Promise.all([follow(id, 0), follow(id, half - 10), follow(id, half)])
  expect(viewers[0]?.response.headers.get('x-output-open')).toBe('true')
  // Comparing so many bytes one by one would take seconds.
  expect((await viewers[0]?.upTo(half))?.equals(data.subarray(0, half))).toBe(true)
  await print(id, data.subarray(half))
  await end(id)
  const [all, ten, rest] = await Promise.all(viewers.map((viewer) => viewer.toEnd()))
  expect(all?.equals(data)).toBe(true)
  expect(ten?.equals(data.subarray(half - 10))).toBe(true)
  expect(rest?.equals(data.subarray(half))).toBe(true)
})

test('a stream ends when the output begins again', async () => {
  covers('endpoint.output-follow')
  const id = await putJob(server, RUNNING)
  await print(id, Buffer.from('first\n'))
  const viewer = await follow(id, 0)
  expect(String(await viewer.upTo(6))).toBe('first\n')
  await server.store.write('test.reset', (queries) => resetStreams(queries, id))
  expect(String(await viewer.toEnd())).toBe('first\n')
  expect((await output(id)).header('x-output-generation')).toBe('1')
})

test('a session has a limited number of followed outputs', async () => {
  covers('endpoint.output-follow')
  const id = await putJob(server, RUNNING)
  await print(id, Buffer.from('x'))
  const viewers = await Promise.all(Array.from({ length: 8 }, () => follow(id, 0)))
  const refused = await output(id, '?follow=true')
  expect([refused.response.status, refused.header('retry-after') !== null]).toEqual([429, true])
  for (const viewer of viewers) viewer.leave()
  await expect
    .poll(async () => {
      const again = await follow(id, 0)
      again.leave()
      return again.response.status
    })
    .toBe(200)
})

test('a stop of the service ends followed outputs and does not wait for them', async () => {
  const stopping = await startServer({})
  const id = await putJob(stopping, RUNNING)
  const response = await fetch(`${stopping.url}/api/v2/job/${id}/output?follow=true`, {
    headers: { authorization: `Bearer ${stopping.admin}` },
  })
  expect(response.status).toBe(200)
  const [said] = await Promise.all([response.text(), stopping.close()])
  expect(said).toBe('')
})
