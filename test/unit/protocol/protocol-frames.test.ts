import fc from 'fast-check'
import { type Frame, MAX_PAYLOAD_BYTES, ProtocolError, STREAMS, decodeFrame, encodeFrame } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'

const number = fc.maxSafeNat()
const payload = fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes))

const streamFrame: fc.Arbitrary<Frame> = fc.record({
  kind: fc.constant('stream' as const),
  stream: fc.constantFrom(...STREAMS),
  final: fc.boolean(),
  epoch: fc.nat({ max: 0xffffffff }),
  jobId: number,
  offset: number,
  payload,
})

const blobFrame: fc.Arbitrary<Frame> = fc
  .record({ sha256: fc.stringMatching(/^[0-9a-f]{64}$/), offset: fc.nat(), rest: fc.nat(), payload })
  .map(({ sha256, offset, rest, payload: part }) => ({
    kind: 'blob' as const,
    sha256,
    offset,
    size: offset + part.length + rest,
    payload: part,
  }))

/** fast-check prints seed and path of a failure; `fc.assert(…, { seed, path })` plays it again. */
describe('frames', () => {
  test('an encoded frame is decoded to the same frame', () => {
    fc.assert(
      fc.property(fc.oneof(streamFrame, blobFrame), (frame) => {
        expect(decodeFrame(encodeFrame(frame))).toEqual(frame)
      }),
      { numRuns: 1000 },
    )
  })

  test('random bytes are a frame or a ProtocolError, and nothing else happens', () => {
    const start = fc.constantFrom([], [1], [2], [1, 0, 0, 0], [1, 1, 1, 0], [2, 0, 0, 0])
    fc.assert(
      fc.property(start, fc.uint8Array({ maxLength: 200 }), (first, bytes) => {
        const message = Buffer.concat([Buffer.from(first), Buffer.from(bytes)])
        try {
          const frame = decodeFrame(message)
          expect(frame.payload.length).toBeLessThan(message.length)
          expect(Number.isSafeInteger(frame.offset)).toBe(true)
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError)
        }
      }),
      { numRuns: 5000 },
    )
  })

  test('a damaged frame is another frame or a ProtocolError', () => {
    fc.assert(
      fc.property(
        fc.oneof(streamFrame, blobFrame),
        fc.nat(),
        fc.nat({ max: 255 }),
        fc.nat(),
        (frame, at, value, cut) => {
          const bytes = encodeFrame(frame)
          bytes[at % bytes.length] = value
          try {
            decodeFrame(bytes.subarray(0, cut % (bytes.length + 1)))
          } catch (error) {
            expect(error).toBeInstanceOf(ProtocolError)
          }
        },
      ),
      { numRuns: 2000 },
    )
  })

  const largest: Frame = {
    kind: 'stream',
    stream: 'events',
    final: true,
    epoch: 1,
    jobId: 1,
    offset: Number.MAX_SAFE_INTEGER,
    payload: Buffer.alloc(MAX_PAYLOAD_BYTES),
  }

  test.each<[string, (bytes: Buffer) => Buffer | number]>([
    ['another kind', (bytes) => bytes.writeUInt8(3, 0)],
    ['another stream', (bytes) => bytes.writeUInt8(2, 1)],
    ['another flag', (bytes) => bytes.writeUInt8(2, 2)],
    ['a job whose number is too large', (bytes) => bytes.writeBigUInt64BE(2n ** 53n, 8)],
    ['an offset that is too large', (bytes) => bytes.writeBigUInt64BE(2n ** 53n, 16)],
    ['a payload that is too long', (bytes) => Buffer.concat([bytes, Buffer.alloc(1)])],
  ])('with %s are refused', (_what, change) => {
    const bytes = encodeFrame(largest)
    expect(decodeFrame(bytes)).toEqual(largest)
    const changed = change(bytes)
    expect(() => decodeFrame(typeof changed === 'number' ? bytes : changed)).toThrow(ProtocolError)
  })

  test('of a blob end with it, and none is made that is too long', () => {
    const blob: Frame = { kind: 'blob', sha256: 'c'.repeat(64), offset: 4, size: 4, payload: Buffer.from('x') }
    expect(() => decodeFrame(encodeFrame(blob))).toThrow(ProtocolError)
    expect(() => encodeFrame({ ...largest, payload: Buffer.alloc(MAX_PAYLOAD_BYTES + 1) })).toThrow(ProtocolError)
  })
})
