import pino from 'pino'
import { expect, test } from 'vitest'
import { OrderBlobs } from '../../../control-plane/src/runners/offers/order-blobs.js'
import type { PreparedOrder } from '../../../control-plane/src/runners/held/prepared-order.js'
import type { RunnerConnection } from '../../../control-plane/src/runners/socket/connection.js'

interface Leaving {
  readonly sha256: string
  readonly content: AsyncIterable<Buffer>
  readonly leave: () => void
  readonly fail: (error: Error) => void
}

/** What OrderBlobs needs of a connection, with blobs that leave when the test says so. */
function sending(filesThatAreThere: readonly string[], problem: Error | null = null) {
  const leaving: Leaving[] = []
  const gone: unknown[] = []
  const connection = {
    send: (message: unknown) => gone.push(message),
    sendBlob: (sha256: string, _: number, content: AsyncIterable<Buffer>) =>
      new Promise<void>((leave, fail) => {
        leaving.push({ sha256, content, leave, fail })
      }),
  }
  const files = {
    manifest: () => Promise.reject(new Error('nobody asks for it here')),
    open: (_: string, sha256: string) =>
      problem
        ? Promise.reject(problem)
        : Promise.resolve(filesThatAreThere.includes(sha256) ? { size: 1, content: noBytes() } : null),
  }
  let told = 0
  const blobs = new OrderBlobs(connection as unknown as RunnerConnection, files, pino({ enabled: false }), () => {
    told += 1
  })
  const order = { job_id: 7, run_id: 'run', manifest_sha256: 'm', extravars: { sha256: 'vars' } }
  const prepared = { order, extravarsBlob: Buffer.from('{}'), files: [] } as unknown as PreparedOrder
  const leaves = async (sha256: string) => {
    await expect.poll(() => leaving.at(-1)?.sha256).toBe(sha256)
    return leaving.at(-1)
  }
  return { blobs, prepared, gone, leaves, leaving, told: () => told }
}

async function* noBytes(): AsyncGenerator<Buffer> {
  // The fake connection reads nothing.
}

test('blobs are sent one after the other, and count as waiting until they have left', async () => {
  const { blobs, prepared, gone, leaves, told } = sending(['a', 'c'])
  blobs.send(prepared, ['a', 'vars'])
  blobs.send(prepared, ['b', 'c'])
  expect([blobs.isSending, blobs.waiting]).toEqual([true, 4])
  ;(await leaves('a'))?.leave()
  const vars = await leaves('vars')
  expect(blobs.waiting).toBe(3)
  vars?.leave()
  const last = await leaves('c')
  // The second one has gone: the runner is told.
  expect(gone).toEqual([{ type: 'blob_gone', job_id: 7, run_id: 'run', sha256: 'b' }])
  expect([blobs.isSending, blobs.waiting]).toEqual([true, 1])
  last?.leave()
  await expect.poll(() => blobs.isSending).toBe(false)
  expect([blobs.waiting, told()]).toEqual([0, 6])
})

test('blobs of a lost connection do not wait any more, and the next ones are sent', async () => {
  const { blobs, prepared, leaves } = sending([])
  blobs.send(prepared, ['vars', 'x', 'y'])
  ;(await leaves('vars'))?.fail(new Error('the connection is closed'))
  await expect.poll(() => blobs.isSending).toBe(false)
  expect(blobs.waiting).toBe(0)
  blobs.send(prepared, ['vars'])
  expect(blobs.waiting).toBe(1)
  ;(await leaves('vars'))?.leave()
})

test.each([
  ['EMFILE', []],
  ['ENOENT', [{ type: 'blob_gone', job_id: 7, run_id: 'run', sha256: 'a' }]],
])('a file that cannot be read with %s is gone only when it will stay so', async (code, told) => {
  const { blobs, prepared, gone } = sending(['a'], Object.assign(new Error('it cannot be read'), { code }))
  blobs.send(prepared, ['a'])
  await expect.poll(() => blobs.isSending).toBe(false)
  expect([gone, blobs.waiting]).toEqual([told, 0])
})

test('variables leave in pieces, and no piece is empty', async () => {
  const piece = 256 * 1024
  for (const [length, pieces] of [
    [piece + 5, [piece, 5]],
    [2 * piece, [piece, piece]],
  ] as const) {
    const { blobs, prepared, leaves } = sending([])
    const extravarsBlob = Buffer.alloc(length, 'variables ')
    blobs.send({ ...prepared, extravarsBlob }, ['vars'])
    const vars = await leaves('vars')
    const found: Buffer[] = []
    for await (const bytes of vars?.content ?? []) found.push(bytes)
    expect(found.map((bytes) => bytes.length)).toEqual(pieces)
    expect(Buffer.concat(found).equals(extravarsBlob)).toBe(true)
    vars?.leave()
  }
})

test('blobs that the network takes at once leave others their turn between them', async () => {
  const { blobs, prepared, leaving } = sending([])
  Object.defineProperty(leaving, 'push', {
    value(this: Leaving[], one: Leaving) {
      one.leave()
      return Array.prototype.push.call(this, one)
    },
  })
  blobs.send(
    prepared,
    Array.from({ length: 20 }, () => 'vars'),
  )
  const seen: number[] = []
  while (blobs.isSending) {
    await new Promise((resolve) => setImmediate(resolve))
    seen.push(leaving.length)
  }
  expect(leaving).toHaveLength(20)
  // Somebody else had a turn while some of them had left and some had not.
  expect(seen.filter((count) => count > 0 && count < 20).length).toBeGreaterThan(5)
})
