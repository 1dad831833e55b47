import { beforeEach, expect, test } from 'vitest'
import { ReadingGate } from '../../../control-plane/src/runners/socket/reading-gate.js'

/** When reading from a runner's socket stops and goes on. */
const MEBIBYTE = 1024 * 1024
let moves: string[]
let blobs: number
let gate: ReadingGate

beforeEach(() => {
  moves = []
  blobs = 0
  const connection = { pause: () => void moves.push('pause'), resume: () => void moves.push('resume') }
  gate = new ReadingGate(connection, () => blobs)
})

const repeat = (count: number, task: () => void): void => {
  for (let done = 0; done < count; done += 1) task()
}

test('more than 8 MiB in memory stop it, once; less than 2 MiB let it go on', () => {
  gate.tookBytes(8 * MEBIBYTE)
  expect(moves).toEqual([])
  gate.tookBytes(1)
  gate.tookBytes(1)
  expect(moves).toEqual(['pause'])
  gate.releasedBytes(6 * MEBIBYTE + 2)
  expect(moves).toEqual(['pause'])
  gate.releasedBytes(1)
  expect(moves).toEqual(['pause', 'resume'])
})

test('more than 500 messages that wait stop it; fewer than 250 let it go on', () => {
  repeat(500, () => gate.tookMessage())
  expect(moves).toEqual([])
  gate.tookMessage()
  expect(moves).toEqual(['pause'])
  repeat(251, () => gate.handledMessage())
  expect(moves).toEqual(['pause'])
  gate.handledMessage()
  expect(moves).toEqual(['pause', 'resume'])
})

test('more than 20,000 blobs that wait stop it; fewer than 10,000 let it go on', () => {
  blobs = 20_000
  gate.blobSent()
  expect(moves).toEqual([])
  blobs = 20_001
  gate.tookMessage()
  expect(moves).toEqual(['pause'])
  blobs = 10_000
  gate.blobSent()
  expect(moves).toEqual(['pause'])
  blobs = 9_999
  gate.blobSent()
  expect(moves).toEqual(['pause', 'resume'])
})

test('all three have to be low before reading goes on', () => {
  gate.tookBytes(9 * MEBIBYTE)
  repeat(300, () => gate.tookMessage())
  gate.releasedBytes(9 * MEBIBYTE)
  expect(moves).toEqual(['pause'])
  repeat(51, () => gate.handledMessage())
  expect(moves).toEqual(['pause', 'resume'])
})
