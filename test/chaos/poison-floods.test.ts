import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { MAX_PAYLOAD_BYTES } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AttackedProduct, startAttacked } from './kit/attacked.js'
import { flood, maskedFrame, networkOf, sealedFrame, streamFrame } from './kit/hostile.js'

/** Point 17: while a good runner runs a job, a hostile one sends without end. It is not read further than it is worked off. */
let chaos: AttackedProduct

beforeAll(async () => {
  chaos = await startAttacked()
})
afterAll(() => chaos.close())

describe('an approved runner floods', () => {
  const many = (frame: () => Buffer, count: number) => Buffer.concat(Array.from({ length: count }, frame))

  test('with messages: it is read only as quickly as they are handled', async () => {
    const { agent, order } = await chaos.hostile.withJob()
    const claim = { type: 'claimed', job_id: order.job_id, run_id: order.run_id }
    expect(await flood(networkOf(agent), () => many(() => sealedFrame(agent, claim), 1000), 600)).toBe(true)
    expect(agent.closed).toBeNull()
    agent.socket.terminate()
    await chaos.expectUnharmed()
  })

  test('with requests for files that it does not read: it is read only as quickly as they are handled', async () => {
    const { agent, order } = await chaos.hostile.withJob()
    const hashes = Array<string>(5000).fill(order.manifest_sha256)
    agent.socket.pause()
    const want = { type: 'want', job_id: order.job_id, run_id: order.run_id, hashes }
    expect(await flood(networkOf(agent), () => sealedFrame(agent, want), 300)).toBe(true)
    agent.socket.terminate()
    await chaos.expectUnharmed()
  })

  test('with statuses, and with pings whose answers it does not read: nothing collects in memory', async () => {
    const agent = await chaos.hostile.connect()
    const status = { type: 'status', running_jobs: 0, max_jobs: 1, spool_bytes: 0, clock: 0 }
    let draining = false
    const toggle = () => sealedFrame(agent, { ...status, draining: (draining = !draining) })
    await flood(networkOf(agent), () => many(toggle, 1000), 20)
    agent.socket.terminate()
    const pinging = await chaos.hostile.connect()
    pinging.socket.pause()
    const pings = many(() => maskedFrame(9, randomBytes(125)), 1000)
    await flood(networkOf(pinging), () => pings, 60)
    pinging.socket.terminate()
    await chaos.expectUnharmed()
  })

  test('with empty events and single bytes: their memory is limited', async () => {
    const { agent, order, epoch } = await chaos.hostile.withJob()
    for (let offset = 0; offset < 12 * 1024 * 1024; offset += MAX_PAYLOAD_BYTES)
      agent.raw(streamFrame(epoch, order.job_id, offset, Buffer.alloc(MAX_PAYLOAD_BYTES, 0x0a), 'events'))
    const bytes = Array.from({ length: 20_000 }, (_, offset) =>
      sealedFrame(agent, streamFrame(epoch, order.job_id, offset, Buffer.from('x'))),
    )
    networkOf(agent).write(Buffer.concat(bytes))
    await agent.next('ack')
    await pause(500)
    agent.socket.terminate()
    await chaos.expectUnharmed()
  })
})

test('after all of this the good job is exact, over its first connection', async ({ annotate }) => {
  await annotate(await chaos.expectExactAfterAll())
})
