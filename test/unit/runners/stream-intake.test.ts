import { createHash } from 'node:crypto'
import type { StreamFrame, StreamName } from '@holdfast/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NONE_FULL } from '../../../control-plane/src/runners/streams/stream-limits.js'
import { type Batch, StreamIntake } from '../../../control-plane/src/runners/streams/stream-intake.js'
import { AMPLE } from '../../support/ample-limits.js'

const EMPTY = { output: 0, events: 0, eventsCount: 0 }

function piece(stream: StreamName, offset: number, bytes: Buffer, final = false): StreamFrame {
  return { kind: 'stream', stream, final, epoch: 1, jobId: 1, offset, payload: bytes }
}

/** Commits a batch as the writer does after its transaction. */
function commit(intake: StreamIntake, batch: Batch): void {
  intake.committed(batch, {
    output: intake.stored.output + batch.output.length,
    events: intake.stored.events + batch.eventsBytes,
    eventsCount: intake.stored.eventsCount + batch.events.length,
  })
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const line = (n: number) =>
  `{"type":"runner_on_ok","play":"p","task":"t ${n}","host":"h","duration":0.1,"time":"2026-01-01T00:00:00.000Z"}\n`

describe('stream intake', () => {
  test('whatever is repeated or cut differently, the stored streams are the sent ones, once', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.integer({ min: 0, max: 12 }),
        fc.array(
          fc.tuple(
            fc.boolean(),
            fc.double({ min: 0, max: 1, noNaN: true }),
            fc.integer({ min: 1, max: 90 }),
            fc.boolean(),
          ),
          {
            maxLength: 60,
          },
        ),
        (outputBytes, events, steps) => {
          const streams = {
            output: Buffer.from(outputBytes),
            events: Buffer.from(Array.from({ length: events }, (_, n) => line(n)).join('')),
          }
          const intake = new StreamIntake(EMPTY, () => 0, AMPLE)
          const stored: Record<StreamName, Buffer[]> = { output: [], events: [] }
          const store = () => {
            const batch = intake.batch()
            stored.output.push(batch.output)
            stored.events.push(...batch.events.map((event) => event.line))
            commit(intake, batch)
          }
          for (const [isOutput, where, size, storeNow] of steps) {
            const stream = isOutput ? 'output' : 'events'
            const from = Math.floor(where * streams[stream].length)
            intake.take(piece(stream, from, streams[stream].subarray(from, from + size)))
            if (storeNow) store()
          }
          // The runner goes on from what is stored until everything is.
          for (const stream of ['output', 'events'] as const) {
            const from = intake.stored[stream]
            expect(intake.take(piece(stream, from, streams[stream].subarray(from), true))).toBeNull()
          }
          const digests = intake.digestsWith(intake.batch())
          intake.reset({ ...intake.stored }, intake.full)
          for (const stream of ['output', 'events'] as const) {
            const from = intake.stored[stream]
            intake.take(piece(stream, from, streams[stream].subarray(from), true))
          }
          store()
          const ofOutput = sha256(streams.output)
          expect(digests).toEqual({ output: ofOutput, shown: ofOutput, events: sha256(streams.events) })
          expect(Buffer.concat(stored.output)).toEqual(streams.output)
          expect(Buffer.concat(stored.events)).toEqual(streams.events)
          expect(intake.stored.eventsCount).toBe(events)
          expect(intake.heldBytes).toBe(0)
        },
      ),
    )
  })

  test('a gap is answered with one rewind, until a piece fits again', () => {
    const intake = new StreamIntake(EMPTY, () => 0, AMPLE)
    expect(intake.take(piece('output', 0, Buffer.from('abc')))).toBeNull()
    expect(intake.take(piece('output', 10, Buffer.from('x')))).toEqual({ rewindTo: 3 })
    expect(intake.take(piece('output', 11, Buffer.from('y')))).toBeNull()
    expect(intake.batch().output.toString()).toBe('abc')
    expect(intake.take(piece('output', 0, Buffer.from('abcd')))).toEqual(null)
  })

  test('pieces that come while a batch is written continue it, also between its commit and the end of its writer', () => {
    const intake = new StreamIntake(EMPTY, () => 0, AMPLE)
    intake.take(piece('output', 0, Buffer.from('abc')))
    const batch = intake.batch()
    intake.writing = batch
    expect(intake.take(piece('output', 3, Buffer.from('def')))).toBeNull()
    commit(intake, batch)
    intake.take(piece('output', 6, Buffer.from('ghi')))
    expect(intake.batch().output.toString()).toBe('defghi')
  })

  test('an incomplete line is not stored until its end comes', () => {
    const intake = new StreamIntake(EMPTY, () => 0, AMPLE)
    const bytes = Buffer.from(line(1))
    intake.take(piece('events', 0, bytes.subarray(0, 20)))
    expect(intake.hasBatch).toBe(false)
    intake.take(piece('events', 20, bytes.subarray(20)))
    expect(intake.batch().events.map((event) => event.task)).toEqual(['t 1'])
  })

  test('a torn last line and an invalid line are stored unchanged, and marked as unreadable', () => {
    const intake = new StreamIntake(EMPTY, () => 0, AMPLE)
    intake.take(piece('events', 0, Buffer.from(`not json\n${line(1)}{"type":"runner_on`), true))
    const { events } = intake.batch()
    expect(events.map((event) => event.type)).toEqual(['unreadable', 'runner_on_ok', 'unreadable'])
    expect(events.map((event) => event.line.toString()).join('')).toBe(`not json\n${line(1)}{"type":"runner_on`)
  })

  test('an endless line is stored in parts, so that memory stays limited', () => {
    const intake = new StreamIntake(EMPTY, () => 0, AMPLE)
    const part = Buffer.alloc(256 * 1024, 0x61)
    for (let n = 0; n < 4; n += 1) {
      intake.take(piece('events', n * part.length, part))
      const batch = intake.batch()
      expect(batch.eventsBytes).toBe(part.length)
      commit(intake, batch)
    }
  })
})

describe('a limit', () => {
  const one = line(1)
  const each = one.length

  test.each([
    ['of output takes just as much', { outputBytes: 5 }, 'output', ['abcde'], ['abcde'], 0],
    ['of output stores the first bytes of more', { outputBytes: 5 }, 'output', ['abc', 'defg'], ['abc', 'de'], 2],
    ['of bytes of events takes just as many', { eventsBytes: 2 * each }, 'events', [one + one], [one + one], 0],
    ['of bytes of events takes whole ones', { eventsBytes: 2 * each - 1 }, 'events', [one + one], [one], each],
    ['of a number of events holds over all pieces', { events: 2 }, 'events', [one, one, one], [one, one, ''], each],
  ] as const)('%s', (_, limit, stream, pieces, stored, dropped) => {
    const intake = new StreamIntake(EMPTY, () => 0, { ...AMPLE, ...limit })
    let [offset, droppedBytes] = [0, 0]
    const kept = pieces.map((text) => {
      intake.take(piece(stream, offset, Buffer.from(text)))
      offset += text.length
      const batch = intake.batch()
      droppedBytes += batch.droppedBytes
      commit(intake, batch)
      return stream === 'output' ? batch.output.toString() : batch.events.map((event) => event.line).join('')
    })
    expect([kept, droppedBytes]).toEqual([stored, dropped])
    expect([intake.full, intake.heldBytes]).toEqual([{ ...NONE_FULL, [stream]: dropped > 0 }, 0])
    // The other stream goes on.
    intake.take(piece(stream === 'output' ? 'events' : 'output', 0, Buffer.from(one)))
    expect(intake.hasBatch).toBe(true)
  })
})

test('after a new start from other lengths nothing that came before is left', () => {
  const intake = new StreamIntake(EMPTY, () => 0, AMPLE)
  intake.take(piece('output', 0, Buffer.from('ab\u001b_')))
  intake.take(piece('events', 0, Buffer.from('{"half')))
  intake.reset({ output: 4, events: 0, eventsCount: 0 }, { output: false, events: true })
  expect([intake.heldBytes, intake.hasBatch, intake.full.events]).toEqual([0, false, true])
  expect(intake.take(piece('output', 9, Buffer.from('gap')))).toEqual({ rewindTo: 4 })
  intake.take(piece('output', 4, Buffer.from('ef')))
  expect(intake.batch().output.toString()).toBe('ef')
  expect(intake.digestsWith(intake.batch())).toBeNull()
})
