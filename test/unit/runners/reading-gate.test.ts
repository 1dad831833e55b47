import { expect, test } from 'vitest'
import { ReadingGate } from '../../../control-plane/src/runners/socket/reading-gate.js'

test('reading from a runner stops once when bytes, messages or blobs wait, and goes on when all are few', () => {
  const moves: string[] = []
  let blobs = 0
  const gate = new ReadingGate({ pause: () => moves.push('pause'), resume: () => moves.push('resume') }, () => blobs)
  const repeat = (count: number, task: () => void) => {
    for (let done = 0; done < count; done += 1) task()
  }
  gate.tookBytes(64 * 1024 * 1024)
  repeat(2000, () => gate.tookMessage())
  blobs = 100_000
  gate.blobSent()
  gate.releasedBytes(64 * 1024 * 1024)
  repeat(2000, () => gate.handledMessage())
  expect(moves).toEqual(['pause'])
  blobs = 0
  gate.blobSent()
  expect(moves).toEqual(['pause', 'resume'])
})
