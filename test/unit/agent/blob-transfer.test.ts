import type { AgentMessage, BlobFrame } from '@holdfast/protocol'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openBlobCache } from '../../../runner-agent/src/files/blob-cache.js'
import {
  BlobGoneError,
  createBlobTransfer,
  TransferError,
  TransferStalledError,
} from '../../../runner-agent/src/files/blob-transfer.js'
import { createUploadTransfer } from '../../../runner-agent/src/files/upload-transfer.js'
import { sha256Of } from '../../agent/fake-control-plane.js'
import { holdClock } from '../../agent/held-clock.js'

const never = (): AbortSignal => new AbortController().signal
const keyOf = (jobId: number, letter = 'a') => ({ jobId, runId: letter.repeat(32) })
const TEXT = Buffer.from('0123456789')
const HASH = sha256Of(TEXT)
const part = (from: number, to: number, more: Partial<BlobFrame> = {}): BlobFrame => ({
  kind: 'blob',
  sha256: HASH,
  offset: from,
  size: TEXT.length,
  payload: TEXT.subarray(from, to),
  ...more,
})

async function setting({ timeoutMs = 600_000, maxBlobBytes = 100 } = {}) {
  const state = mkdtempSync(join(tmpdir(), 'holdfast-transfer-'))
  const cache = await openBlobCache(state, 1000)
  await cache.prepare()
  const wants: Extract<AgentMessage, { type: 'want' }>[] = []
  const transfer = createBlobTransfer({
    cache,
    send: (message) => void (message.type === 'want' && wants.push(message)),
    timeoutMs,
    maxBlobBytes,
  })
  onTestFinished(() => {
    transfer.close()
    rmSync(state, { recursive: true })
  })
  return { cache, transfer, wants, halves: () => readdirSync(join(state, 'cache', 'incoming')) }
}

test.each([
  [4_999, [4_999]],
  [5_000, [5_000]],
  [5_001, [5_000, 1]],
  [10_000, [5_000, 5_000]],
])('%i files are asked for in messages of %j', async (count, expected) => {
  const { transfer, wants } = await setting()
  const hashes = Array.from({ length: count }, (_, index) => index.toString(16).padStart(64, '0'))
  const cancel = new AbortController()
  const fetched = transfer.fetch(keyOf(1), hashes, cancel.signal)
  expect(wants.map((want) => want.hashes.length)).toEqual(expected)
  expect(wants.flatMap((want) => want.hashes)).toEqual(hashes)
  expect(wants[0]).toMatchObject({ job_id: 1, run_id: 'a'.repeat(32) })
  cancel.abort(new Error('enough'))
  await expect(fetched).rejects.toThrow('enough')
})

test('nothing is asked for when nothing is missing, or when the job was given up before', async () => {
  const { transfer, wants } = await setting()
  await transfer.fetch(keyOf(1), [], never())
  const given = AbortSignal.abort(new Error('given up'))
  await expect(transfer.fetch(keyOf(1), [HASH], given)).rejects.toThrow('given up')
  expect(wants).toEqual([])
})

describe('a file that comes', () => {
  test.each([
    [10, true],
    [9, false],
  ])('is taken up to the largest size, here %i bytes: %s', async (maxBlobBytes, isTaken) => {
    const { transfer } = await setting({ maxBlobBytes })
    const fetched = transfer.fetch(keyOf(1), [HASH], never())
    transfer.take(part(0, 10))
    if (isTaken) await expect(fetched).resolves.toBeUndefined()
    else await expect(fetched).rejects.toThrow(TransferError)
  })

  test('is taken in its order, and whatever else comes is passed over', async () => {
    const { cache, transfer } = await setting()
    transfer.take(part(0, 10))
    expect(await cache.has(HASH)).toBe(false)
    const fetched = transfer.fetch(keyOf(1), [HASH], never())
    transfer.take(part(4, 10))
    transfer.take(part(0, 4))
    transfer.take(part(6, 10))
    transfer.take(part(4, 9))
    expect(await cache.has(HASH)).toBe(false)
    transfer.take(part(9, 10))
    await fetched
    expect(await cache.read(HASH)).toEqual(TEXT)
  })

  test('twice from its beginning leaves no half of the first time', async () => {
    const { transfer, halves } = await setting()
    const fetched = transfer.fetch(keyOf(1), [HASH], never())
    transfer.take(part(0, 4))
    transfer.take(part(0, 5))
    expect(halves()).toHaveLength(1)
    transfer.take(part(5, 10))
    await fetched
    expect(halves()).toEqual([])
  })

  test('with other content than its hash says ends the waiting of each job', async () => {
    const { cache, transfer, halves } = await setting()
    const outcomes = Promise.allSettled([1, 2].map((job) => transfer.fetch(keyOf(job), [HASH], never())))
    transfer.take(part(0, 10, { payload: Buffer.from('9876543210') }))
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { name: 'TransferError' } })
    expect(await cache.has(HASH)).toBe(false)
    expect(halves()).toEqual([])
  })

  test('does not end the waiting of a job that lacks one more', async () => {
    const { transfer } = await setting()
    const other = Buffer.from('other')
    let isDone = false
    const fetched = transfer.fetch(keyOf(1), [HASH, sha256Of(other)], never()).then(() => (isDone = true))
    transfer.take(part(0, 10))
    await new Promise((resolve) => setImmediate(resolve))
    expect(isDone).toBe(false)
    transfer.take({ kind: 'blob', sha256: sha256Of(other), offset: 0, size: 5, payload: other })
    expect(await fetched).toBe(true)
  })
})

test('a file that is gone ends the waiting of the job that is named, and of no other', async () => {
  const { transfer } = await setting()
  const lost = transfer.fetch(keyOf(1), [HASH], never())
  const outcome = expect(lost).rejects.toThrow(BlobGoneError)
  const others = [keyOf(1, 'b'), keyOf(2)].map((key) => transfer.fetch(key, [HASH], never()))
  transfer.gone(keyOf(1), sha256Of(Buffer.from('a file that nobody wants')))
  transfer.gone(keyOf(1), HASH)
  await outcome
  transfer.take(part(0, 10))
  await Promise.all(others)
})

test('what was asked for in the name of a job that ends is asked for again in that of another', async () => {
  const { cache, transfer, wants } = await setting()
  const other = Buffer.from('other')
  const outcome = expect(transfer.fetch(keyOf(1), [HASH, sha256Of(other)], never())).rejects.toThrow(BlobGoneError)
  const second = transfer.fetch(keyOf(2), [sha256Of(other), HASH], never())
  expect(wants).toHaveLength(1)
  transfer.gone(keyOf(1), HASH)
  await outcome
  expect(wants[1]).toMatchObject({ job_id: 2, run_id: 'a'.repeat(32), hashes: [HASH, sha256Of(other)] })
  transfer.take({ kind: 'blob', sha256: sha256Of(other), offset: 0, size: 5, payload: other })
  transfer.take(part(0, 10))
  await second
  expect(wants).toHaveLength(2)
  expect([await cache.has(HASH), await cache.has(sha256Of(other))]).toEqual([true, true])
})

test('a job that ends and asked for nothing has nothing asked for again', async () => {
  const { transfer, wants } = await setting()
  const first = transfer.fetch(keyOf(1), [HASH], never())
  const outcome = expect(transfer.fetch(keyOf(2), [HASH], never())).rejects.toThrow(BlobGoneError)
  transfer.gone(keyOf(2), HASH)
  await outcome
  expect(wants).toHaveLength(1)
  transfer.take(part(0, 10))
  await first
})

test('nothing is asked for in the name of a job that was given up', async () => {
  const { transfer, wants } = await setting()
  const cancel = new AbortController()
  const both = Promise.allSettled([
    transfer.fetch(keyOf(1), [HASH], never()),
    transfer.fetch(keyOf(2), [HASH], cancel.signal),
  ])
  transfer.gone(keyOf(1), HASH)
  cancel.abort(new Error('given up'))
  expect(await both).toMatchObject([{ reason: { name: 'BlobGoneError' } }, { reason: { message: 'given up' } }])
  expect(wants.map((want) => want.job_id)).toEqual([1])
})

test('a file that is wanted again after its job was given up is asked for again', async () => {
  const { transfer, wants } = await setting()
  const cancel = new AbortController()
  const given = transfer.fetch(keyOf(1), [HASH], cancel.signal)
  cancel.abort(new Error('given up'))
  await expect(given).rejects.toThrow('given up')
  const again = transfer.fetch(keyOf(2), [HASH], never())
  expect(wants.map((want) => want.job_id)).toEqual([1, 2])
  transfer.take(part(0, 10))
  await again
  const once = transfer.fetch(keyOf(3), [HASH], never())
  expect(wants.map((want) => want.job_id)).toEqual([1, 2, 3])
  transfer.take(part(0, 10))
  await once
})

test('a job that waits when the connection ends goes on waiting, until it is given up', async () => {
  const { transfer } = await setting()
  const cancel = new AbortController()
  const fetched = transfer.fetch(keyOf(1), [HASH], cancel.signal)
  transfer.close()
  transfer.gone(keyOf(1), HASH)
  cancel.abort(new Error('the job ends'))
  await expect(fetched).rejects.toThrow('the job ends')
})

test.each<[string, unknown, object]>([
  ['an error of the system', Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }), { code: 'ENOSPC' }],
  ['something else', 'no error at all', { name: 'TransferError', message: 'no error at all' }],
])('%s while a file is written ends the waiting of its jobs', async (_, thrown, expected) => {
  const { cache, transfer } = await setting()
  vi.spyOn(cache, 'receive').mockImplementation(() => {
    throw thrown
  })
  const outcomes = Promise.allSettled([1, 2].map((job) => transfer.fetch(keyOf(job), [HASH], never())))
  transfer.take(part(0, 10))
  expect(await outcomes).toMatchObject([{ reason: expected }, { reason: expected }])
})

test('transfers keep no process alive', () => {
  // Nothing else of this process runs between the two looks.
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const send = (): void => undefined
  const blobs = createBlobTransfer({ cache: null as never, send, timeoutMs: 600_000, maxBlobBytes: 100 })
  const uploads = createUploadTransfer({ send, timeoutMs: 600_000 })
  expect(timers()).toBe(before)
  blobs.close()
  uploads.close()
})

test('the half of a file goes when the connection ends, and what comes after that is not taken', async () => {
  const { cache, transfer, halves } = await setting()
  const cancel = new AbortController()
  const fetched = transfer.fetch(keyOf(1), [HASH], cancel.signal)
  transfer.take(part(0, 4))
  expect(halves()).toHaveLength(1)
  transfer.close()
  expect(halves()).toEqual([])
  transfer.take(part(0, 10))
  expect(await cache.has(HASH)).toBe(false)
  cancel.abort(new Error('the job ends'))
  await expect(fetched).rejects.toThrow('the job ends')
})

test('a job that is given up leaves no half of a file that only it wanted', async () => {
  const { transfer, wants, halves } = await setting()
  const cancel = new AbortController()
  const fetched = transfer.fetch(keyOf(1), [HASH], cancel.signal)
  transfer.take(part(0, 4))
  cancel.abort(new Error('given up'))
  await expect(fetched).rejects.toThrow('given up')
  expect(halves()).toEqual([])
  expect(wants).toHaveLength(1)
})

/** Both transfers look four times in the time that they wait for, at the clock that only the test moves. */
describe('a file that stops', () => {
  const heldClock = () => holdClock({ timers: true, performance: true })
  /** What became of a promise up to now. */
  const stateOf = async (fetched: Promise<void>): Promise<string> => {
    const later = new Promise<string>((resolve) => setImmediate(() => resolve('waits')))
    return Promise.race([
      fetched.then(
        () => 'done',
        (error: Error) => error.name,
      ),
      later,
    ])
  }

  test('is given up when more than its time is over since its last part', async () => {
    const clock = heldClock()
    const { transfer } = await setting({ timeoutMs: 1000 })
    const fetched = transfer.fetch(keyOf(1), [HASH], never())
    fetched.catch(() => undefined)
    clock.move(1000)
    expect(await stateOf(fetched)).toBe('waits')
    transfer.take(part(0, 4))
    clock.move(1000)
    expect(await stateOf(fetched)).toBe('waits')
    clock.move(250)
    expect(await stateOf(fetched)).toBe(TransferStalledError.name)
  })

  test('does not end while other files of its job come', async () => {
    const clock = heldClock()
    const { transfer } = await setting({ timeoutMs: 1000 })
    const other = Buffer.from('other')
    const fetched = transfer.fetch(keyOf(1), [sha256Of(other), HASH], never())
    fetched.catch(() => undefined)
    clock.move(1000)
    transfer.take({ kind: 'blob', sha256: sha256Of(other), offset: 0, size: 5, payload: other })
    clock.move(1000)
    expect(await stateOf(fetched)).toBe('waits')
    transfer.take(part(0, 10))
    expect(await stateOf(fetched)).toBe('done')
  })

  test('does the same as an upload', async () => {
    const clock = heldClock()
    const transfer = createUploadTransfer({ send: () => undefined, timeoutMs: 1000 })
    let received = 0
    const incoming = {
      get received() {
        return received
      },
      append: (bytes: Buffer) => void (received += bytes.length),
      finish: () => true,
      suspend: () => undefined,
    }
    const fetched = transfer.fetch(keyOf(1), { sha256: HASH, size: 10 }, incoming, never())
    fetched.catch(() => undefined)
    clock.move(1000)
    expect(await stateOf(fetched)).toBe('waits')
    transfer.take(part(0, 4))
    clock.move(1000)
    expect(await stateOf(fetched)).toBe('waits')
    clock.move(250)
    expect(await stateOf(fetched)).toBe(TransferStalledError.name)
    transfer.close()
    expect(clock.count()).toBe(0)
  })

  test('is looked for no more when the connection is over', async () => {
    const clock = heldClock()
    const { transfer } = await setting({ timeoutMs: 1000 })
    expect(clock.count()).toBe(1)
    transfer.close()
    expect(clock.count()).toBe(0)
  })
})
