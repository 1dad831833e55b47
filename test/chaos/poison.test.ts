import type { Socket } from 'node:net'
import { MAX_PAYLOAD_BYTES, SUBPROTOCOL } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RawAgent } from '../support/raw-agent.js'
import { type AttackedProduct, startAttacked } from './kit/attacked.js'
import { dialRaw, maskedFrame, networkOf, socketOf, streamFrame } from './kit/hostile.js'
import { type Chance, seeded } from './kit/seed.js'

/**
 * Point 17: while a good runner runs a job, strangers and an approved hostile runner send whatever they like. Their
 * connections are closed with the contract's reason; nobody else notices. Floods are in poison-floods.
 */
const FILE = 'test/chaos/poison.test.ts'
let chaos: AttackedProduct

beforeAll(async () => {
  chaos = await startAttacked()
})
afterAll(() => chaos.close())

const deep = (open: string, close: string) => `${open.repeat(200_000)}${close.repeat(200_000)}`

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

  const bytesOf = (chance: Chance, length: number) => Buffer.from(Array.from({ length }, () => chance.between(0, 255)))

  const nonsense = 'that sends any bytes, as TCP, after the upgrade and as messages, is turned away'
  test(
    nonsense,
    seeded(FILE, nonsense, async (chance) => {
      const url = socketOf(chaos.product)
      await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const noise = bytesOf(chance, chance.between(200, 5000))
          await endsAfter((socket) => socket.write(Buffer.concat([Buffer.from('\0\r\n\r\n'), noise])))
          await endsAfter((socket) => {
            socket.write(`${UPGRADE}\r\n\r\n`)
            // The reserved bits of a first byte are never set.
            socket.write(Buffer.concat([Buffer.from([0xf0 | (index & 0x0f)]), noise]))
          })
          const agent = RawAgent.dial(url)
          await agent.next('challenge')
          agent.raw(index % 2 === 0 ? noise : noise.toString('latin1'))
          expect((await agent.waitForClose()).reason).toBe(index % 2 === 0 ? 'before_handshake' : 'bad_message')
        }),
      )
      await chaos.expectUnharmed()
    }),
  )

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

  test('that never finishes its handshake does not keep out others', async () => {
    const slow = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const socket = await dialRaw(chaos.product)
        socket.write(index % 2 === 0 ? UPGRADE : `${UPGRADE}\r\n\r\n`)
        return socket
      }),
    )
    const agent = await chaos.hostile.connect()
    await chaos.expectUnharmed()
    await agent.leave()
    for (const socket of slow) socket.destroy()
  })
})

describe('an approved runner', () => {
  const huge = () => ({ type: 'status', running_jobs: 2 ** 53, max_jobs: 1, draining: false, spool_bytes: 0, clock: 0 })
  const otherJob = () => ({ job_id: chaos.good.jobId, run_id: chaos.good.runId })
  const endRecord = () => ({
    run_id: chaos.good.runId,
    cause: 'exited',
    exit_code: 0,
    signal: null,
    message: null,
    aborted: false,
    started_at: null,
    ended_at: new Date().toISOString(),
    output: { length: 0, sha256: '0'.repeat(64), dropped_bytes: 0 },
    events: { length: 0, sha256: '0'.repeat(64), dropped: 0, errors: 0, plugin_seen: true },
  })
  const POISONS: Readonly<Record<string, [(agent: RawAgent, epoch: number) => void, string]>> = {
    'wrong types': [(agent) => agent.raw('{"type":"status","running_jobs":"many"}'), 'bad_message'],
    'an unknown message': [(agent) => agent.raw('{"type":"launch"}'), 'bad_message'],
    'a number past the exact ones': [(agent) => agent.raw(JSON.stringify(huge())), 'bad_message'],
    'arrays 200,000 deep': [(agent) => agent.raw(deep('[', ']')), 'bad_message'],
    'a truncated frame': [(agent) => agent.raw(Buffer.from([1, 0, 0])), 'bad_frame'],
    'an offset of 2^63': [
      (agent, epoch) => {
        const frame = streamFrame(epoch, 1, 0, Buffer.from('x'))
        frame.writeBigUInt64BE(2n ** 63n, 16)
        agent.raw(frame)
      },
      'bad_frame',
    ],
    'a payload over the limit': [
      (agent, epoch) => {
        const frame = streamFrame(epoch, 1, 0, Buffer.alloc(MAX_PAYLOAD_BYTES))
        agent.raw(Buffer.concat([frame, Buffer.alloc(1)]))
      },
      'too_large',
    ],
    'output for the job of another runner': [
      (agent, epoch) => agent.raw(streamFrame(epoch, chaos.good.jobId, 0, Buffer.from('forged\n'))),
      'not_yours',
    ],
    'the end of the job of another runner': [
      (agent) => agent.raw(JSON.stringify({ type: 'end', job_id: chaos.good.jobId, record: endRecord() })),
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
