import pino from 'pino'
import { expect, test } from 'vitest'
import { OrderBlobs } from '../../control-plane/src/runners/offers/order-blobs.js'
import type { PreparedOrder } from '../../control-plane/src/runners/held/prepared-order.js'
import type { RunnerConnection } from '../../control-plane/src/runners/socket/connection.js'

/** What OrderBlobs needs of a connection, with blobs that leave when the test says so. */
function sending(filesThatAreThere: readonly string[]) {
  const leaving: { sha256: string; leave: () => void; fail: (error: Error) => void }[] = []
  const gone: unknown[] = []
  const connection = {
    send: (message: unknown) => gone.push(message),
    sendBlob: (sha256: string) =>
      new Promise<void>((leave, fail) => {
        leaving.push({ sha256, leave, fail })
      }),
  }
  const files = {
    manifest: () => Promise.reject(new Error('nobody asks for it here')),
    open: (_: string, sha256: string) =>
      Promise.resolve(filesThatAreThere.includes(sha256) ? { size: 1, content: noBytes() } : null),
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
  return { blobs, prepared, gone, leaves, told: () => told }
}

async function* noBytes(): AsyncGenerator<Buffer> {
  // The fake connection reads nothing.
}

test('blobs go one after the other, and count as waiting until they have left', async () => {
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

test('what a lost connection did not take does not wait any more, and the next ones are sent', async () => {
  const { blobs, prepared, leaves } = sending([])
  blobs.send(prepared, ['vars', 'x', 'y'])
  ;(await leaves('vars'))?.fail(new Error('the connection is closed'))
  await expect.poll(() => blobs.isSending).toBe(false)
  expect(blobs.waiting).toBe(0)
  blobs.send(prepared, ['vars'])
  expect(blobs.waiting).toBe(1)
  ;(await leaves('vars'))?.leave()
})
