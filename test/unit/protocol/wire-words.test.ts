import {
  CLOSE_REASONS,
  END_CAUSES,
  EVENT_TYPES,
  type Frame,
  ProtocolError,
  REFUSALS,
  STREAMS,
  decodeFrame,
  encodeFrame,
  parseAgentMessage,
  parseServerMessage,
  readEventLine,
} from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'

/** Words that runners of other releases know: each of them must go on to be understood. */

const RUN = { job_id: 1, run_id: 'a'.repeat(32) }

test.each([
  'playbook_on_start',
  'playbook_on_play_start',
  'playbook_on_task_start',
  'playbook_on_handler_task_start',
  'playbook_on_include',
  'playbook_on_vars_prompt',
  'playbook_on_notify',
  'playbook_on_no_hosts_matched',
  'playbook_on_no_hosts_remaining',
  'runner_on_start',
  'runner_on_ok',
  'runner_on_failed',
  'runner_on_skipped',
  'runner_on_unreachable',
  'runner_retry',
  'runner_item_on_ok',
  'runner_item_on_failed',
  'runner_item_on_skipped',
  'runner_on_async_poll',
  'runner_on_async_ok',
  'runner_on_async_failed',
  'runner_on_file_diff',
  'playbook_on_stats',
])('an event of the type %s is read', (type) => {
  const event = { type, play: null, task: 'a', host: null, duration: 1.5, time: '2026-01-01T00:00:00.000Z' }
  expect(readEventLine(JSON.stringify({ ...event, more: 1 }))).toEqual(event)
  expect(EVENT_TYPES).toHaveLength(23)
})

test.each(['', '{', 'null', '[]', '{"type":"other"}', '{"type":"runner_on_ok"}'])('%j is no event', (line) => {
  expect(readEventLine(line)).toBeNull()
})

test.each(['busy', 'draining', 'spool_full', 'files_changed', 'files_failed'])('a job may be refused as %s', (code) => {
  const message = { type: 'refused', ...RUN, code, message: 'no' }
  expect(parseAgentMessage(JSON.stringify(message))).toEqual(message)
  expect(REFUSALS).toHaveLength(5)
})

test.each(['exited', 'signaled', 'spawn_failed', 'aborted', 'supervisor_lost', 'host_rebooted', 'not_started'])(
  'a run may end as %s',
  (cause) => {
    const stream = { length: 0, sha256: 'a'.repeat(64) }
    const record = {
      run_id: RUN.run_id,
      cause,
      exit_code: null,
      signal: null,
      message: null,
      aborted: false,
      started_at: null,
      ended_at: '2026-01-01T00:00:00.000Z',
      output: { ...stream, dropped_bytes: 0 },
      events: { ...stream, dropped: 0, errors: 0, plugin_seen: true },
    }
    const message = { type: 'end', job_id: 1, record }
    expect(parseAgentMessage(JSON.stringify(message))).toEqual(message)
    expect(END_CAUSES).toHaveLength(7)
  },
)

test.each(['continue', 'stored', 'forget', 'unknown'])('the answer about a job in a spool may be %s', (verdict) => {
  const message = { type: 'resume', jobs: [{ ...RUN, verdict, output: 1, events: 2, abort: false }] }
  expect(parseServerMessage(JSON.stringify(message))).toEqual(message)
})

test.each(['waiting', 'approved'])('a runner may be welcomed and told that it is %s', (state) => {
  const welcome = { type: 'welcome', state, epoch: 1, max_jobs: null, heartbeat_ms: 50, speaks: 1 }
  expect(parseServerMessage(JSON.stringify(welcome))).toEqual(welcome)
  const settings = { type: 'settings', state, max_jobs: 2 }
  expect(parseServerMessage(JSON.stringify(settings))).toEqual(settings)
  expect(() => parseServerMessage(JSON.stringify({ ...welcome, heartbeat_ms: 49 }))).toThrow(ProtocolError)
})

test('each message of a run is understood, and one without its run is not', () => {
  const hash = 'b'.repeat(64)
  const fromAgent = [
    { type: 'claimed', ...RUN },
    { type: 'unknown_job', ...RUN },
    { type: 'want', ...RUN, hashes: [hash] },
    { type: 'want_upload', ...RUN, sha256: hash, offset: 0 },
    { type: 'orphan', ...RUN, service: null, ended: true, description: null },
  ]
  for (const message of fromAgent) {
    expect(parseAgentMessage(JSON.stringify(message))).toEqual(message)
    expect(() => parseAgentMessage(JSON.stringify({ ...message, run_id: undefined }))).toThrow(ProtocolError)
  }
  const fromService = [
    { type: 'blob_gone', ...RUN, sha256: hash },
    { type: 'end_stored', ...RUN },
    { type: 'abort', ...RUN },
    { type: 'forget', ...RUN },
    { type: 'adopt', ...RUN },
  ]
  for (const message of fromService) {
    expect(parseServerMessage(JSON.stringify(message))).toEqual(message)
    expect(() => parseServerMessage(JSON.stringify({ ...message, job_id: 0 }))).toThrow(ProtocolError)
  }
  for (const stream of ['output', 'events']) {
    const message = { type: 'rewind', job_id: 1, stream, to: 3 }
    expect(parseServerMessage(JSON.stringify(message))).toEqual(message)
  }
})

test('a runner gives up to dial soon again only where a person must act first', () => {
  const final = Object.entries(CLOSE_REASONS).filter(([, { retry }]) => !retry)
  expect(final.map(([name]) => name)).toEqual(['bad_signature', 'contract_mismatch', 'denied', 'revoked', 'clone'])
  expect(Object.keys(CLOSE_REASONS)).toHaveLength(22)
})

describe('frames', () => {
  const stream: Frame = {
    kind: 'stream',
    stream: 'events',
    final: true,
    epoch: 7,
    jobId: Number.MAX_SAFE_INTEGER,
    offset: Number.MAX_SAFE_INTEGER,
    payload: Buffer.from('x'),
  }
  const blob: Frame = { kind: 'blob', sha256: 'c'.repeat(64), offset: 3, size: 4, payload: Buffer.from('x') }

  test('are read from their first byte to their last', () => {
    expect(STREAMS).toEqual(['output', 'events'])
    expect(encodeFrame(stream).subarray(0, 4)).toEqual(Buffer.from([1, 1, 1, 0]))
    expect(encodeFrame({ ...stream, stream: 'output', final: false }).subarray(0, 4)).toEqual(Buffer.from([1, 0, 0, 0]))
    for (const frame of [stream, blob]) {
      const empty = { ...frame, payload: Buffer.alloc(0) }
      expect(decodeFrame(encodeFrame(frame))).toEqual(frame)
      expect(decodeFrame(encodeFrame(empty))).toEqual(empty)
      const header = encodeFrame(empty)
      expect(() => decodeFrame(header.subarray(0, header.length - 1))).toThrow('not a frame of this contract')
    }
  })

  test.each<[string, (bytes: Buffer) => unknown, string]>([
    ['another kind', (bytes) => bytes.writeUInt8(3, 0), 'not a frame of this contract'],
    ['another stream', (bytes) => bytes.writeUInt8(2, 1), 'unknown stream or flag'],
    ['another flag', (bytes) => bytes.writeUInt8(2, 2), 'unknown stream or flag'],
    ['a job whose number is too large', (bytes) => bytes.writeBigUInt64BE(2n ** 53n, 8), 'number out of range'],
    ['an offset that is too large', (bytes) => bytes.writeBigUInt64BE(2n ** 53n, 16), 'number out of range'],
  ])('with %s are refused', (_what, change, words) => {
    const bytes = encodeFrame(stream)
    change(bytes)
    expect(() => decodeFrame(bytes)).toThrow(words)
  })

  test('of a blob end with it', () => {
    expect(() => decodeFrame(encodeFrame({ ...blob, offset: 4 }))).toThrow('blob part past its end')
    expect(() => decodeFrame(Buffer.alloc(0))).toThrow('not a frame of this contract')
  })
})
