import { describe, expect, test } from 'vitest'
import type { AgentMessage } from '@holdfast/protocol'
import type { IncomingUpload } from '../../../runner-agent/src/files/upload-store.js'
import { createUploadTransfer } from '../../../runner-agent/src/files/upload-transfer.js'
import { sha256Of } from '../../agent/fake-control-plane.js'

/** Uploaded files of several jobs on their way over one connection. */
const never = (): AbortSignal => new AbortController().signal
const keyOf = (jobId: number) => ({ jobId, runId: String(jobId).repeat(32).slice(0, 32) })

interface Received extends IncomingUpload {
  text(): string
}

/** A file on its way in, in memory. */
function incomingUpload(begun = ''): Received {
  let text = begun
  return {
    get received() {
      return text.length
    },
    append: (bytes) => void (text += bytes.toString()),
    finish: () => true,
    suspend: () => undefined,
    text: () => text,
  }
}

function uploadOf(content: string) {
  const sha256 = sha256Of(Buffer.from(content))
  const size = content.length
  const part = (offset: number, end: number) =>
    ({ kind: 'blob', sha256, offset, size, payload: Buffer.from(content.slice(offset, end)) }) as const
  return { sha256, size, part }
}

function setting() {
  const sent: AgentMessage[] = []
  const transfer = createUploadTransfer({ send: (message) => void sent.push(message), timeoutMs: 600_000 })
  return { sent, transfer }
}

test('two jobs that get different files at once each get their own', async () => {
  const { sent, transfer } = setting()
  const [cats, dogs] = [uploadOf('cats and more cats'), uploadOf('dogs and other dogs')]
  const [one, other] = [incomingUpload('cats'), incomingUpload()]
  const both = Promise.all([
    transfer.fetch(keyOf(1), cats, one, never()),
    transfer.fetch(keyOf(2), dogs, other, never()),
  ])
  expect(sent).toMatchObject([
    { type: 'want_upload', job_id: 1, sha256: cats.sha256, offset: 4 },
    { type: 'want_upload', job_id: 2, sha256: dogs.sha256, offset: 0 },
  ])
  transfer.take(dogs.part(0, 7))
  transfer.take(cats.part(4, 9))
  transfer.take(dogs.part(7, 19))
  transfer.take(cats.part(9, 18))
  await both
  expect([one.text(), other.text()]).toEqual(['cats and more cats', 'dogs and other dogs'])
  transfer.close()
})

test('a missing file ends the waiting of its job, and of no other', async () => {
  const { transfer } = setting()
  const [cats, dogs] = [uploadOf('cats'), uploadOf('dogs')]
  const saved = incomingUpload()
  const lost = transfer.fetch(keyOf(1), cats, incomingUpload(), never())
  const sameFile = transfer.fetch(keyOf(2), cats, saved, never())
  const sameJob = transfer.fetch(keyOf(1), dogs, incomingUpload(), never())
  transfer.gone(keyOf(1), cats.sha256)
  await expect(lost).rejects.toThrow('is not there any more')
  transfer.take(cats.part(0, 4))
  transfer.take(dogs.part(0, 4))
  await Promise.all([sameFile, sameJob])
  expect(saved.text()).toBe('cats')
  transfer.close()
})

test('a part out of order is ignored; one of another size ends the waiting', async () => {
  const { transfer } = setting()
  const cats = uploadOf('cats')
  const incoming = incomingUpload()
  const whole = transfer.fetch(keyOf(1), cats, incoming, never())
  transfer.take(cats.part(2, 4))
  transfer.take(cats.part(0, 2))
  transfer.take(cats.part(0, 2))
  transfer.take(cats.part(2, 4))
  // Whole already: the rest of an earlier question changes nothing.
  transfer.take(cats.part(0, 4))
  await whole
  expect(incoming.text()).toBe('cats')
  const wrong = transfer.fetch(keyOf(2), cats, incomingUpload(), never())
  transfer.take({ ...cats.part(0, 2), size: 5 })
  await expect(wrong).rejects.toThrow('another size')
  transfer.close()
})

test('a job that is given up and a connection that ends end the waiting', async () => {
  const { transfer } = setting()
  const cats = uploadOf('cats')
  const giveUp = new AbortController()
  const given = transfer.fetch(keyOf(1), cats, incomingUpload(), giveUp.signal)
  const cut = transfer.fetch(keyOf(2), cats, incomingUpload(), never())
  giveUp.abort(new Error('given up'))
  await expect(given).rejects.toThrow('given up')
  expect(transfer.isOver).toBe(false)
  transfer.close()
  await expect(cut).rejects.toThrow('the connection is over')
  expect(transfer.isOver).toBe(true)
  await expect(transfer.fetch(keyOf(3), cats, incomingUpload(), never())).rejects.toThrow('the connection is over')
})

test('a job that was given up before asks for nothing', async () => {
  const { sent, transfer } = setting()
  const given = AbortSignal.abort(new Error('given up'))
  await expect(transfer.fetch(keyOf(1), uploadOf('cats'), incomingUpload(), given)).rejects.toThrow('given up')
  expect(sent).toEqual([])
  transfer.close()
})

test.each([
  ['another job with a run of that name', { jobId: 2, runId: keyOf(1).runId }],
  ['another run of that job', { jobId: 1, runId: keyOf(2).runId }],
])('a file that is missing for %s is not missing here', async (_, other) => {
  const { transfer } = setting()
  const cats = uploadOf('cats')
  const fetched = transfer.fetch(keyOf(1), cats, incomingUpload(), never())
  transfer.gone(other, cats.sha256)
  transfer.take(cats.part(0, 4))
  await fetched
  transfer.close()
})

describe('nothing is written', () => {
  const cats = uploadOf('cats')

  test('for a job that was given up', async () => {
    const { transfer } = setting()
    const [incoming, giveUp] = [incomingUpload(), new AbortController()]
    const fetched = transfer.fetch(keyOf(1), cats, incoming, giveUp.signal)
    giveUp.abort(new Error('given up'))
    await expect(fetched).rejects.toThrow('given up')
    transfer.take(cats.part(0, 4))
    expect(incoming.text()).toBe('')
    transfer.close()
  })

  test('after a part that does not fit', async () => {
    const { transfer } = setting()
    const incoming = incomingUpload()
    const fetched = transfer.fetch(keyOf(1), cats, incoming, never())
    transfer.take({ ...cats.part(0, 2), size: 5 })
    transfer.take(cats.part(0, 2))
    await expect(fetched).rejects.toThrow('another size')
    expect(incoming.text()).toBe('')
    transfer.close()
  })

  test('after the end of the connection', async () => {
    const { transfer } = setting()
    const incoming = incomingUpload()
    const fetched = transfer.fetch(keyOf(1), cats, incoming, never())
    transfer.close()
    transfer.take(cats.part(0, 4))
    await expect(fetched).rejects.toThrow('the connection is over')
    expect(incoming.text()).toBe('')
  })
})

test.each<[string, unknown, object]>([
  ['an error of the system', Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }), { code: 'ENOSPC' }],
  ['something else', 'no error at all', { name: 'TransferError', message: 'no error at all' }],
])('%s while a file is written ends the waiting', async (_, thrown, expected) => {
  const { transfer } = setting()
  const cats = uploadOf('cats')
  const broken: IncomingUpload = {
    ...incomingUpload(),
    received: 0,
    append: () => {
      throw thrown
    },
  }
  const fetched = transfer.fetch(keyOf(1), cats, broken, never())
  transfer.take(cats.part(0, 4))
  await expect(fetched).rejects.toMatchObject(expected)
  transfer.close()
})
