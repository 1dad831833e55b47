import { encodeFrame } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { capacityOf, sameCapacity } from '../../../control-plane/src/runners/socket/capacity.js'
import { readIncoming } from '../../../control-plane/src/runners/socket/incoming.js'
import {
  clockSkew,
  newsIn,
  reportedJobs,
  reportedStatus,
  reportedText,
} from '../../../control-plane/src/runners/socket/reported.js'
import { TokenBucket } from '../../../control-plane/src/runners/socket/token-bucket.js'
import type { Runner } from '../../../control-plane/src/store/runners/runners.js'

const STATUS = { runningJobs: 1, agentMaxJobs: 10, draining: false, spoolBytes: 5, clockSkewMs: 0, lastSeen: 1 }
const URGENT = { urgent: true, visible: true }
const VISIBLE = { urgent: false, visible: true }
const NEITHER = { urgent: false, visible: false }

describe('what a runner reports', () => {
  test.each([
    [{ draining: true }, URGENT],
    [{ agentMaxJobs: 11 }, URGENT],
    [{ runningJobs: 2 }, VISIBLE],
    [{ spoolBytes: 6 }, VISIBLE],
    [{ clockSkewMs: 1000 }, VISIBLE],
    [{ clockSkewMs: -1000 }, VISIBLE],
    [{ clockSkewMs: 999 }, NEITHER],
    [{ lastSeen: 99 }, NEITHER],
    [{}, NEITHER],
  ])('the news in %o are %o', (change, news) => {
    expect(newsIn(STATUS, { ...STATUS, ...change })).toEqual(news)
  })

  test('a text stays on one line, without characters that steer a terminal or turn the text around', () => {
    expect(reportedText('a\u001b[2Jb\r\nc\u2028d\u2029e\u202Ef\u202Ag\u2066h\u2069i j')).toBe('a [2Jb c d e f g h i j')
  })

  test('numbers are kept within what can be stored and shown', () => {
    expect([reportedJobs(1_000_000), reportedJobs(1_000_001)]).toEqual([1_000_000, 1_000_000])
    expect([clockSkew(1500.4, 1000), clockSkew(0, 1000)]).toEqual([500, -1000])
    const most = Number.MAX_SAFE_INTEGER
    expect([clockSkew(Infinity, 0), clockSkew(-Infinity, 0)]).toEqual([most, -most])
  })

  test('a status is stored as it came, with the time here', () => {
    const message = { running_jobs: 2, max_jobs: 3, draining: true, spool_bytes: 4, clock: 700 }
    expect(reportedStatus({ type: 'status', ...message }, 500)).toEqual({
      runningJobs: 2,
      agentMaxJobs: 3,
      draining: true,
      spoolBytes: 4,
      clockSkewMs: 200,
      lastSeen: 500,
    })
  })
})

describe('capacity', () => {
  test('the limit of an admin comes before that of the agent, also when it is 0', () => {
    const of = (maxJobs: number | null) => capacityOf({ enabled: true, maxJobs } as Runner, STATUS)
    expect(of(null)).toEqual({ enabled: true, draining: false, maxJobs: 10 })
    expect(of(0).maxJobs).toBe(0)
    expect(of(3).maxJobs).toBe(3)
  })

  test.each([[{ enabled: false }], [{ draining: true }], [{ maxJobs: 4 }]])('another one differs in %o', (change) => {
    const capacity = { enabled: true, draining: false, maxJobs: 3 }
    expect(sameCapacity(capacity, { ...capacity })).toBe(true)
    expect(sameCapacity(capacity, { ...capacity, ...change })).toBe(false)
  })
})

describe('what may come over an accepted connection', () => {
  const bytes = Buffer.from('x')

  test('frames of streams, statuses and the messages about jobs', () => {
    const frame = {
      kind: 'stream',
      stream: 'output',
      final: false,
      epoch: 1,
      jobId: 1,
      offset: 0,
      payload: bytes,
    } as const
    expect(readIncoming(encodeFrame(frame))).toMatchObject({ kind: 'frame', frame: { stream: 'output', jobId: 1 } })
    const status = { type: 'status', running_jobs: 0, max_jobs: 1, draining: false, spool_bytes: 0, clock: 1 }
    expect(readIncoming(JSON.stringify(status))).toMatchObject({ kind: 'status' })
    expect(readIncoming('{"type":"inventory","jobs":[]}')).toMatchObject({ kind: 'message', message: { jobs: [] } })
  })

  test('and no blobs', () => {
    const blob = encodeFrame({ kind: 'blob', sha256: 'a'.repeat(64), offset: 0, size: 1, payload: bytes })
    expect(() => readIncoming(blob)).toThrow('a runner sends no blobs')
  })
})

describe('a rate of 2 at once and 4 a second', () => {
  test('takes 2, then says how long the next one is too early', () => {
    let now = 0
    const bucket = new TokenBucket({ burst: 2, perSecond: 4 }, () => now)
    expect([bucket.take(), bucket.take(), bucket.take(), bucket.take(2)]).toEqual([0, 0, 250, 750])
    now = 1000
    expect(bucket.take()).toBe(0)
    expect(bucket.take()).toBe(250)
  })

  test('is full again when a new one would give the same answers, and never fuller', () => {
    let now = 0
    const bucket = new TokenBucket({ burst: 2, perSecond: 4 }, () => now)
    expect(bucket.isFull).toBe(true)
    bucket.take(2)
    now = 499
    expect(bucket.isFull).toBe(false)
    now = 500
    expect(bucket.isFull).toBe(true)
    now = 100_000
    expect([bucket.take(2), bucket.take(1)]).toEqual([0, 250])
  })
})
