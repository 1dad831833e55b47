import { createHash } from 'node:crypto'
import { type EndRecord, MAX_EVENT_LINE_BYTES, type StreamFrame, type StreamName } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { type Batch, StreamIntake } from '../../../control-plane/src/runners/streams/stream-intake.js'
import {
  type StreamLimits,
  ALL_FULL,
  NONE_FULL,
  fullLine,
  fullWords,
  isCut,
  streamLimits,
} from '../../../control-plane/src/runners/streams/stream-limits.js'
import { Pieces } from '../../../control-plane/src/runners/streams/pieces.js'
import { AMPLE } from '../../support/ample-limits.js'
import { endedWell } from '../../support/end-record.js'

/** What of a job is stored when a runner sends more than is kept, or something that no agent sends. */
const EMPTY = { output: 0, events: 0, eventsCount: 0 }
const MEBIBYTE = 1024 * 1024

function intakeOf(limits: Partial<StreamLimits> = {}, stored = EMPTY) {
  const intake = new StreamIntake(stored, () => 0, { ...AMPLE, ...limits })
  const send = (stream: StreamName, offset: number, text: string | Buffer, final = false) => {
    const payload = Buffer.from(text)
    return intake.take({ kind: 'stream', stream, final, epoch: 1, jobId: 1, offset, payload } satisfies StreamFrame)
  }
  /** Stores what is there, as the writer does. */
  const store = (): Batch => {
    const batch = intake.batch()
    const { output, events, eventsCount } = intake.stored
    intake.committed(batch, {
      output: output + batch.output.length,
      events: events + batch.eventsBytes,
      eventsCount: eventsCount + batch.events.length,
    })
    return batch
  }
  return { intake, send, store }
}

const event = (task: string, time = '2026-01-01T00:00:00.000Z') =>
  `{"type":"runner_on_ok","play":"p","task":"${task}","host":"h","duration":0.1,"time":"${time}"}\n`
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

describe('a limit of 5 bytes of output', () => {
  test('takes 5', () => {
    const { intake, send, store } = intakeOf({ outputBytes: 5 })
    send('output', 0, 'abcde')
    expect(store()).toMatchObject({ filled: [], droppedBytes: 0 })
    expect(intake.full).toEqual(NONE_FULL)
  })

  test('stores the first 5 of more, and takes nothing after them', () => {
    const { intake, send, store } = intakeOf({ outputBytes: 5 })
    send('output', 0, 'abc')
    store()
    // The start of a mark waits, and is dropped with the rest.
    send('output', 3, 'defg\u001b_')
    const batch = store()
    expect(batch.output.toString()).toBe('de')
    expect(batch).toMatchObject({ filled: ['output'], droppedBytes: 4 })
    expect([intake.full, intake.heldBytes]).toEqual([{ output: true, events: false }, 0])
    expect(send('output', 99, 'more')).toBeNull()
    expect([intake.hasBatch, intake.heldBytes]).toEqual([false, 0])
    send('events', 0, event('t'))
    expect(store().events).toHaveLength(1)
  })
})

describe('limits of events', () => {
  const one = event('1')

  test('two events fit into their bytes exactly, and not into one byte less', () => {
    const fits = intakeOf({ eventsBytes: 2 * one.length })
    fits.send('events', 0, one + one)
    expect(fits.store()).toMatchObject({ filled: [], eventsBytes: 2 * one.length, droppedBytes: 0 })

    const less = intakeOf({ eventsBytes: 2 * one.length - 1 })
    less.send('events', 0, `${one + one}{"type`)
    expect(less.store()).toMatchObject({ filled: ['events'], eventsBytes: one.length, droppedBytes: one.length + 6 })
    expect([less.intake.full, less.intake.heldBytes]).toEqual([{ output: false, events: true }, 0])
  })

  test('a number of 2 events takes 2 and not a third, also over several pieces', () => {
    const { intake, send, store } = intakeOf({ events: 2 })
    send('events', 0, one)
    store()
    send('events', one.length, one)
    expect(store()).toMatchObject({ filled: [], eventsBytes: one.length })
    send('events', 2 * one.length, one + one)
    expect(store()).toMatchObject({ filled: ['events'], events: [], eventsBytes: 0, droppedBytes: 2 * one.length })
    expect(intake.stored.eventsCount).toBe(2)
  })

  test('what was stored before the connection counts', () => {
    const { send, store } = intakeOf({ eventsBytes: 100 + one.length }, { output: 0, events: 100, eventsCount: 1 })
    send('events', 100, one + one)
    expect(store()).toMatchObject({ filled: ['events'], eventsBytes: one.length })
  })

  test('2000 of them are one batch, and the next one is in the next', () => {
    const { intake, send, store } = intakeOf()
    send('events', 0, one.repeat(2000))
    expect([store().events.length, intake.hasBatch]).toEqual([2000, false])
    send('events', 2000 * one.length, one.repeat(2001))
    expect([store().events.length, intake.hasBatch]).toEqual([2000, true])
    expect([store().events.length, intake.heldBytes]).toEqual([1, 0])
  })

  test('texts of a list are cut at 4000 characters and times at 40, and the line has everything', () => {
    const { send, store } = intakeOf()
    const long = event('t'.repeat(4001), '9'.repeat(41))
    send('events', 0, event('t'.repeat(4000)) + long)
    const { events } = store()
    expect(events.map(({ task }) => task?.length)).toEqual([4000, 4000])
    expect(events[1]?.line.toString()).toBe(long)
    for (const { time } of events) expect(time.length).toBeLessThanOrEqual(40)
  })

  test('a line that is as long as any event may be is not waited for any more', () => {
    const { intake, send, store } = intakeOf()
    send('events', 0, 'x'.repeat(MAX_EVENT_LINE_BYTES - 1))
    expect(intake.hasBatch).toBe(false)
    send('events', MAX_EVENT_LINE_BYTES - 1, 'x')
    expect(store().events.map(({ type, line }) => [type, line.length])).toEqual([['unreadable', MAX_EVENT_LINE_BYTES]])
    // Its rest is another line.
    send('events', MAX_EVENT_LINE_BYTES, `y\n${one}`)
    expect(store().events.map(({ type }) => type)).toEqual(['unreadable', 'runner_on_ok'])
  })
})

describe('what still comes of a full stream', () => {
  test('up to 16 MiB were on their way; more is an abuse', () => {
    const { intake, send, store } = intakeOf({ outputBytes: 1 })
    send('output', 0, 'ab')
    store()
    send('output', 2, Buffer.alloc(8 * MEBIBYTE))
    send('output', 2, Buffer.alloc(8 * MEBIBYTE))
    expect(intake.isAbused).toBe(false)
    send('output', 2, 'x')
    expect(intake.isAbused).toBe(true)
  })
})

describe('the digests', () => {
  test('are of everything from the start, and nobody knows them where a part was stored before', () => {
    const { intake, send, store } = intakeOf()
    send('output', 0, 'ab')
    store()
    send('output', 2, 'cd')
    send('events', 0, event('1'))
    const whole = { output: sha256('abcd'), shown: sha256('abcd'), events: sha256(event('1')) }
    expect(intake.digestsWith(intake.batch())).toEqual(whole)
    for (const stored of [
      { output: 1, events: 0, eventsCount: 0 },
      { output: 0, events: 1, eventsCount: 0 },
    ]) {
      const later = intakeOf({}, stored).intake
      expect(later.digestsWith(later.batch())).toBeNull()
      intake.reset(stored, NONE_FULL)
      expect(intake.digestsWith(intake.batch())).toBeNull()
    }
    intake.reset(EMPTY, NONE_FULL)
    send('output', 0, 'xy')
    expect(intake.digestsWith(intake.batch())?.output).toBe(sha256('xy'))
  })

  test('of events cover those of every batch', () => {
    const { intake, send, store } = intakeOf()
    send('events', 0, event('1'))
    store()
    send('events', event('1').length, event('2'))
    expect(intake.digestsWith(intake.batch())?.events).toBe(sha256(event('1') + event('2')))
  })
})

test('lines are whole wherever they are cut, however many pieces of them wait', () => {
  const { send, store } = intakeOf()
  const all = event('1').repeat(700)
  const cuts = [event('1').length]
  for (let at = event('1').length + 50; at < all.length; at += event('1').length) cuts.push(at)
  for (const [index, end] of [...cuts, all.length].entries())
    send('events', cuts[index - 1] ?? 0, all.slice(cuts[index - 1] ?? 0, end))
  expect(new Set(store().events.map(({ line }) => line.toString()))).toEqual(new Set([event('1')]))
})

test.each(['output', 'events'] as const)('a gap at the start of the %s is asked for', (stream) => {
  const { intake, send } = intakeOf()
  expect([send(stream, 3, 'x'), send(stream, 4, 'y')]).toEqual([{ rewindTo: 0 }, null])
  intake.reset(EMPTY, NONE_FULL)
  expect(send(stream, 3, 'x')).toEqual({ rewindTo: 0 })
})

test('after a new start from other lengths nothing that came before is left', () => {
  const { intake, send, store } = intakeOf()
  send('output', 0, 'ab\u001b_')
  send('events', 0, `${event('1')}{"half`)
  intake.writing = intake.batch()
  send('output', 99, 'gap')
  intake.reset({ output: 4, events: 0, eventsCount: 0 }, { output: false, events: true })
  expect([intake.heldBytes, intake.hasBatch, intake.full.events, intake.writing]).toEqual([0, false, true, null])
  // A gap is asked for anew.
  expect(send('output', 9, 'gap')).toEqual({ rewindTo: 4 })
  send('output', 4, 'ef')
  expect(store().output.toString()).toBe('ef')
})

test('the start of a mark waits, until its stream ends with it', () => {
  const { intake, send, store } = intakeOf()
  send('output', 0, 'ab\u001b_')
  expect(store().output.toString()).toBe('ab')
  expect([intake.hasBatch, intake.heldBytes]).toEqual([false, 2])
  send('output', 4, 'x')
  expect(store().output.toString()).toBe('\u001b_x')
  send('output', 5, '\u001b_', true)
  expect(store().output.toString()).toBe('\u001b_')
})

describe('words about limits', () => {
  const record = (output: number, events: number): EndRecord => ({
    ...endedWell('1'.repeat(32), ''),
    output: { length: output, sha256: '', dropped_bytes: 0 },
    events: { length: events, sha256: '', dropped: 0, errors: 0, plugin_seen: true },
  })

  test('a stream is cut when it is full and the runner has more than is stored', () => {
    const stored = { output: 10, events: 10 }
    expect(isCut(record(11, 11), stored, ALL_FULL, 'output')).toBe(true)
    expect(isCut(record(10, 11), stored, ALL_FULL, 'output')).toBe(false)
    expect(isCut(record(11, 10), stored, ALL_FULL, 'events')).toBe(false)
    expect(isCut(record(11, 11), stored, NONE_FULL, 'output')).toBe(false)
  })

  test('the end of a job names each cut stream with both lengths', () => {
    const words = (stream: string) => `the runner sent more ${stream} than is kept: the first 10 of 11 bytes are stored`
    const stored = { output: 10, events: 10 }
    expect(fullWords(record(11, 11), stored, ALL_FULL)).toEqual([words('output'), words('events')])
    expect(fullWords(record(11, 11), stored, { output: false, events: true })).toEqual([words('events')])
    expect(fullWords(record(10, 10), stored, ALL_FULL)).toEqual([])
  })

  test('a reader of the output learns which setting it is, and the lines of the agent have room of their own', () => {
    expect(fullLine('output')).toContain('PROCESS_MAX_BUFFER_MB')
    expect(fullLine('events')).toContain('JOB_EVENTS_MAX_MB, JOB_EVENTS_MAX')
    expect(streamLimits({ outputBytes: 100, eventsBytes: 200, events: 3 })).toEqual({
      outputBytes: 100 + 65_536,
      eventsBytes: 200,
      events: 3,
    })
  })
})

describe('pieces', () => {
  test('are counted, taken from the front in any size, and joined when there are a thousand', () => {
    const pieces = new Pieces()
    expect([pieces.first(), pieces.bytes]).toEqual([undefined, 0])
    pieces.shift(1)
    pieces.add(Buffer.alloc(0))
    for (let count = 0; count < 1001; count += 1) pieces.add(Buffer.from('ab'))
    expect([pieces.first()?.length, pieces.bytes]).toEqual([2000, 2002])
    pieces.shift(1999)
    expect([pieces.first()?.toString(), pieces.bytes]).toEqual(['b', 3])
    pieces.shift(1)
    expect([pieces.first()?.toString(), pieces.bytes]).toEqual(['ab', 2])
    pieces.shift(99)
    expect([pieces.first(), pieces.bytes]).toEqual([undefined, 0])
  })

  test('one that is kept apart is not joined with those around it', () => {
    const pieces = new Pieces()
    pieces.add(Buffer.from('a'))
    pieces.add(Buffer.from('b'))
    pieces.addApart(Buffer.from('c'))
    pieces.add(Buffer.from('d'))
    const seen: (string | undefined)[] = []
    for (let first = pieces.first(); first; first = pieces.first()) {
      seen.push(first.toString())
      pieces.shift(first.length)
    }
    expect(seen).toEqual(['ab', 'c', 'd'])
  })

  test('all of them together are the bytes in order, once', () => {
    const pieces = new Pieces()
    pieces.add(Buffer.from('a'))
    pieces.addApart(Buffer.from('b'))
    pieces.add(Buffer.from('c'))
    expect(pieces.takeAll().toString()).toBe('abc')
    expect([pieces.bytes, pieces.takeAll().length, pieces.first()]).toEqual([0, 0, undefined])
    pieces.add(Buffer.from('e'))
    pieces.clear()
    expect([pieces.bytes, pieces.takeAll().length]).toEqual([0, 0])
  })
})
