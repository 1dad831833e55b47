import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { joinHostile, streamFrame, type HostileRunner } from '../chaos/kit/hostile.js'
import { waitFor } from '../support/wait.js'
import { type TenRunners, startTenRunners } from './ten-runners.js'

/** An approved runner sends without end for its own job. What is kept of it is bounded, and ten others work on. */
let ten: TenRunners
let hostile: HostileRunner

const MIB = 1024 * 1024
const FORM = `name: hostile
type: ansible
roles: [default]
playbook: good-0.yml
runner: hostile
inventory: localhost,
fields: []
`

beforeAll(async () => {
  ten = await startTenRunners({
    forms: { 'hostile.yml': FORM },
    controlPlane: { PROCESS_MAX_BUFFER_MB: '1', JOB_EVENTS_MAX_MB: '1', JOB_EVENTS_MAX: '1000' },
  })
  hostile = await joinHostile(ten.product, 'hostile', 'hostile')
})
afterAll(() => ten.close())

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** Sends a job's streams in frames as large as may be, and how it ended. */
async function run(streams: { readonly output: Buffer; readonly events: Buffer }) {
  const { agent, order, epoch } = await hostile.withJob()
  for (const stream of ['output', 'events'] as const) {
    for (let offset = 0; offset < streams[stream].length; offset += 256 * 1024) {
      const payload = streams[stream].subarray(offset, offset + 256 * 1024)
      agent.raw(streamFrame(epoch, order.job_id, offset, payload, stream))
    }
  }
  const now = new Date().toISOString()
  agent.say({
    type: 'end',
    job_id: order.job_id,
    record: {
      run_id: order.run_id,
      cause: 'exited',
      exit_code: 0,
      signal: null,
      message: null,
      aborted: false,
      started_at: now,
      ended_at: now,
      output: { length: streams.output.length, sha256: sha256(streams.output), dropped_bytes: 0 },
      events: {
        length: streams.events.length,
        sha256: sha256(streams.events),
        dropped: 0,
        errors: 0,
        plugin_seen: true,
      },
    },
  })
  return { agent, jobId: order.job_id }
}

const line = (fields: object) =>
  `${JSON.stringify({ type: 'runner_on_ok', play: 'p', task: 't', host: 'h', duration: 0, time: '2026-01-01T00:00:00.000Z', ...fields })}\n`

describe('a runner that sends more than is kept', () => {
  test('of output: the job ends with what is kept, marked, and its runner is told', async () => {
    const { agent, jobId } = await run({ output: Buffer.alloc(6 * MIB, 'x'), events: Buffer.from(line({})) })
    const job = await ten.product.waitForEnd(jobId)
    const kept = MIB + 64 * 1024
    expect(job).toMatchObject({
      status: 'success',
      detail: `the runner sent more output than is kept: the first ${kept} of ${6 * MIB} bytes are stored`,
    })
    const output = String(job.output)
    expect(output.startsWith('x'.repeat(kept))).toBe(true)
    expect(output.slice(kept)).toMatch(/^\n\[WARNING\]: the runner sends more output than is kept .*\n$/)
    expect(await agent.next('stream_full')).toMatchObject({ job_id: jobId, stream: 'output', length: kept })
    await agent.next('end_stored')
    await agent.leave()
    await ten.expectUndisturbed()
  })

  test('of events, in bytes: whole lines are kept, as many as there is room for', async () => {
    const one = line({ result: { msg: 'y'.repeat(10_000) } })
    const { agent, jobId } = await run({ output: Buffer.from('done\n'), events: Buffer.from(one.repeat(500)) })
    const job = await ten.product.waitForEnd(jobId)
    const count = Math.floor(MIB / one.length)
    expect(String(job.detail)).toContain(`the first ${count * one.length} of ${500 * one.length} bytes are stored`)
    expect(await ten.product.admin.get(`/job/${jobId}/events?limit=2000`)).toMatchObject({ count })
    await agent.leave()
  })

  test('of events, in number: empty lines are counted, too', async () => {
    const { agent, jobId } = await run({ output: Buffer.alloc(0), events: Buffer.alloc(500_000, '\n') })
    expect(String((await ten.product.waitForEnd(jobId)).detail)).toContain('the first 1000 of 500000 bytes are stored')
    expect(await ten.product.admin.get(`/job/${jobId}/events?limit=2000`)).toMatchObject({ count: 1000 })
    await agent.leave()
  })

  test('and goes on when it was told: its connection is closed, and a later one is told again', async () => {
    const { agent, order, epoch } = await hostile.withJob()
    const part = Buffer.alloc(256 * 1024, 'z')
    let offset = 0
    await waitFor('the connection to be closed', () => {
      for (let count = 0; count < 8 && !agent.closed; count += 1, offset += part.length)
        agent.raw(streamFrame(epoch, order.job_id, offset, part))
      return agent.closed
    })
    expect(agent.closed?.reason).toBe('too_large')
    const again = await hostile.connect()
    const place = { job_id: order.job_id, run_id: order.run_id }
    again.say({ type: 'inventory', jobs: [{ ...place, output: offset, events: 0, ended: false }] })
    expect(await again.next('stream_full')).toMatchObject({ job_id: order.job_id, stream: 'output' })
    await again.leave()
    await ten.expectUndisturbed()
  })
})

test('fields by which events are listed are cut like those of the event callback', async () => {
  const { agent, jobId } = await run({
    output: Buffer.alloc(0),
    events: Buffer.from(line({ task: 't'.repeat(100_000), host: 'h'.repeat(50_000) })),
  })
  await ten.product.waitForEnd(jobId)
  const { records } = await ten.product.admin.get<{ records: { task: string; host: string }[] }>(`/job/${jobId}/events`)
  expect([records[0]?.task.length, records[0]?.host.length]).toEqual([4000, 4000])
  await agent.leave()
})

test('after all of it the ten jobs are exact, over the connections that they began with', () => ten.expectExact())
