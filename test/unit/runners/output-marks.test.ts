import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StreamIntake } from '../../../control-plane/src/runners/streams/stream-intake.js'
import { takeMarks } from '../../../control-plane/src/runners/streams/output-marks.js'
import { shownOutput } from '../../support/shown-output.js'

const AMPLE = { outputBytes: 1e9, eventsBytes: 1e9, events: 1e9 }
const EMPTY = { output: 0, events: 0, eventsCount: 0 }
const WORD = Buffer.from([0x80, 0x81, 0xbf, 0x90, 0xa0, 0xb0, 0x88, 0x99])

/** A mark as the callback of the runner writes it. */
function markOf(event: number): Buffer {
  const digits: number[] = []
  for (let rest = event; rest > 0; rest = Math.floor(rest / 64)) digits.unshift(0x80 | (rest % 64))
  return Buffer.concat([Buffer.from('\x1b_'), WORD, Buffer.from(digits), Buffer.from('\x1b\\')])
}

/** Texts, things that nearly are marks, and marks. */
const part = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }).map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  fc
    .integer({ min: 1, max: 2 ** 40 })
    .chain((event) => fc.integer({ min: 0, max: 30 }).map((end) => markOf(event).subarray(0, end))),
  fc.integer({ min: 1, max: 2 ** 40 }).map(markOf),
)

describe('marks in the output of a runner', () => {
  test('are removed and nothing else is, however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 20 }),
        fc.array(fc.nat({ max: 20 }), { maxLength: 60 }),
        (parts, cuts) => {
          const stream = Buffer.concat(parts)
          const intake = new StreamIntake(EMPTY, () => 0, AMPLE)
          const shown: Buffer[] = []
          const again: Buffer[] = []
          let [offset, stored] = [0, 0]
          const storeBatch = () => {
            if (!intake.hasBatch) return
            const batch = intake.batch()
            const { marks, shown: text } = batch.marked
            shown.push(text)
            // The marks and the shown bytes together are the bytes of the runner.
            let [at, from] = [0, 0]
            for (const mark of marks) {
              again.push(text.subarray(from, mark.shown), mark.mark)
              expect(mark.at).toBe(at + mark.shown - from)
              at = mark.at + mark.mark.length
              from = mark.shown
            }
            again.push(text.subarray(from))
            stored += batch.output.length
            intake.committed(batch, { output: stored, events: 0, eventsCount: 0 })
          }
          for (const length of [...cuts, stream.length]) {
            const payload = stream.subarray(offset, offset + length)
            const final = offset + payload.length === stream.length
            intake.take({ kind: 'stream', stream: 'output', final, epoch: 1, jobId: 1, offset, payload })
            offset += payload.length
            if (length % 2 === 0) storeBatch()
          }
          storeBatch()
          expect(Buffer.concat(again)).toEqual(stream)
          expect(Buffer.concat(shown)).toEqual(shownOutput(stream))
        },
      ),
      { numRuns: 1000 },
    )
  })

  test.each([
    ['no digits', [], []],
    ['one digit', [0x81], [1]],
    ['two digits', [0x82, 0x80], [128]],
    ['the number 0, because events are counted from 1', [0x80], []],
    ['a byte that no digit has', [0x81, 0xc1], []],
    ['too many digits', Array.from({ length: 8 }, () => 0x81), []],
  ])('with %s', (_, digits, events) => {
    const mark = Buffer.concat([Buffer.from('\x1b_'), WORD, Buffer.from(digits), Buffer.from('\x1b\\')])
    const { shown, marks } = takeMarks(Buffer.concat([Buffer.from('ab'), mark, Buffer.from('c')]))
    expect(marks.map(({ event }) => event)).toEqual(events)
    expect(shown.toString('latin1')).toBe(events.length > 0 ? 'abc' : `ab${mark.toString('latin1')}c`)
  })
})
