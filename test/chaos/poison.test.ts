import type { Socket } from 'node:net'
import { SUBPROTOCOL } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endedWell } from '../support/end-record.js'
import { RawAgent } from '../support/raw-agent.js'
import { type AttackedProduct, startAttacked } from './kit/attacked.js'
import { dialRaw, maskedFrame, networkOf, socketOf, streamFrame } from './kit/hostile.js'

/**
 * Point 17: while a good runner runs a job, strangers and an approved hostile runner send what harms. Their connections
 * are closed with the contract's reason; nobody else notices. Floods are in poison-floods.
 */
let chaos: AttackedProduct

beforeAll(async () => {
  chaos = await startAttacked()
})
afterAll(() => chaos.close())

describe('a stranger', () => {
  const UPGRADE = [
    'GET /api/v2/rte/socket HTTP/1.1',
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    `Sec-WebSocket-Protocol: ${SUBPROTOCOL}`,
  ].join('\r\n')

  /** Sends and waits until the other side ends it. */
  async function endsAfter(send: (socket: Socket) => void): Promise<void> {
    const socket = await dialRaw(chaos.product)
    socket.resume()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    send(socket)
    await closed
  }

  test('that sends an endless frame, endless fragments or too much before its hello is cut off', async () => {
    const filler = Buffer.alloc(60_000, 0x20)
    const frames = [
      maskedFrame(1, filler, Number.MAX_SAFE_INTEGER),
      Buffer.concat([
        maskedFrame(1, filler, undefined, false),
        ...Array(20).fill(maskedFrame(0, filler, undefined, false)),
      ]),
      Buffer.concat([
        maskedFrame(1, Buffer.alloc(1), undefined, false),
        ...Array(40_000).fill(maskedFrame(0, Buffer.alloc(1), undefined, false)),
      ]),
    ] as Buffer[]
    for (const frame of frames) {
      await endsAfter((socket) => {
        socket.write(`${UPGRADE}\r\n\r\n`)
        socket.write(frame)
      })
    }
    const url = socketOf(chaos.product)
    const started = maskedFrame(1, Buffer.alloc(70 * 1024, 0x20), 900 * 1024)
    const crowd = Array.from({ length: 100 }, () => RawAgent.dial(url))
    for (const agent of crowd) {
      await agent.next('challenge')
      networkOf(agent).write(started)
    }
    for (const agent of crowd) expect((await agent.waitForClose()).reason).toBe('too_large')
    await chaos.expectUnharmed()
  })
})

describe('an approved runner', () => {
  const otherJob = () => ({ job_id: chaos.good.jobId, run_id: chaos.good.runId })
  const POISONS: Readonly<Record<string, [(agent: RawAgent, epoch: number) => void, string]>> = {
    'output for the job of another runner': [
      (agent, epoch) => agent.raw(streamFrame(epoch, chaos.good.jobId, 0, Buffer.from('forged\n'))),
      'not_yours',
    ],
    'the end of the job of another runner': [
      (agent) =>
        agent.raw(JSON.stringify({ type: 'end', job_id: chaos.good.jobId, record: endedWell(chaos.good.runId, '') })),
      'not_yours',
    ],
    'a claim of the job of another runner': [(agent) => agent.say({ type: 'claimed', ...otherJob() }), 'not_yours'],
    'a wish for the files of the job of another runner': [
      (agent) => agent.say({ type: 'want', ...otherJob(), hashes: ['0'.repeat(64)] }),
      'not_yours',
    ],
  }

  test.each(Object.entries(POISONS))('%s: closed with the reason', async (_name, [send, reason]) => {
    const agent = await chaos.hostile.connect()
    const { epoch } = await agent.next('welcome')
    agent.say({ type: 'inventory', jobs: [] })
    await agent.next('resume')
    send(agent, epoch)
    expect(await agent.waitForClose()).toMatchObject({ reason })
    await chaos.expectUnharmed()
  })

  test('that lists, refuses or denies jobs of others learns nothing about them, and nothing else happens', async () => {
    const agent = await chaos.hostile.connect()
    const made = Array.from({ length: 5000 }, (_, index) => ({ job_id: index + 1000, run_id: chaos.good.runId }))
    const jobs = [otherJob(), ...made].map((job) => ({ ...job, output: 10, events: 10, ended: true }))
    agent.say({ type: 'inventory', jobs })
    const resume = await agent.next('resume')
    // The same as for a job that nobody has.
    const nothing = { verdict: 'unknown', output: 0, events: 0, abort: false }
    expect(resume.jobs).toEqual(jobs.map(({ job_id, run_id }) => ({ job_id, run_id, ...nothing })))
    agent.say({ type: 'unknown_job', ...otherJob() })
    agent.say({ type: 'refused', ...otherJob(), code: 'files_failed', message: 'no' })
    const { epoch } = await agent.next('welcome')
    // Of an older connection: not even looked at.
    agent.raw(streamFrame(epoch - 1, chaos.good.jobId, 0, Buffer.from('forged\n')))
    agent.say({ type: 'inventory', jobs: [] })
    expect(await agent.waitForClose()).toMatchObject({ reason: 'bad_message', text: 'a second inventory' })
    await chaos.expectUnharmed()
  })

  test('can write only to its own job, whatever job its frames name', async () => {
    const { agent, order, epoch } = await chaos.hostile.withJob()
    for (const offset of [2 ** 53 - 1, 2 ** 52, 1]) {
      agent.raw(streamFrame(epoch, order.job_id, offset, Buffer.from('x')))
      expect(await agent.next('rewind')).toMatchObject({ job_id: order.job_id, stream: 'output', to: 0 })
    }
    agent.raw(streamFrame(epoch, order.job_id, 0, Buffer.from('mine\n')))
    expect(await agent.next('ack')).toMatchObject({ output: 5, events: 0 })
    await agent.leave()
    await chaos.expectUnharmed()
  })
})

test('after all of this the good job is exact, over its first connection', async ({ annotate }) => {
  await annotate(await chaos.expectExactAfterAll())
})
