import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { forEachLimited } from '../../../runner-agent/src/for-each-limited.js'
import { type BlobCache, openBlobCache } from '../../../runner-agent/src/files/blob-cache.js'
import { createBlobTransfer } from '../../../runner-agent/src/files/blob-transfer.js'
import { loadIdentity } from '../../../runner-agent/src/identity/identity.js'
import { socketAddress } from '../../../runner-agent/src/link/address.js'
import { createBackOff } from '../../../runner-agent/src/link/back-off.js'
import { portOf, proxyFor } from '../../../runner-agent/src/link/proxy.js'
import { ANSIBLE_PARTS } from '../../../runner-agent/src/package-info.js'
import { identifyProcess, lookAtProcess } from '../../../runner-agent/src/host/processes.js'
import { acquireStateLock, StateInUseError } from '../../../runner-agent/src/spool/state-lock.js'
import { sha256Of } from '../../agent/fake-control-plane.js'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-parts-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true })
})

test.each([
  ['http://app:8000', 'ws://app:8000/api/v2/rte/socket'],
  ['https://app/', 'wss://app/api/v2/rte/socket'],
  ['https://app/forms/', 'wss://app/forms/api/v2/rte/socket'],
])('the socket of %s is %s', (app, socket) => {
  expect(socketAddress(new URL(app))).toBe(socket)
})

test.each([
  ['https://app.example.com', null, true],
  ['http://app.example.com', null, false],
  ['https://app.example.com', 'example.com', false],
  ['https://app.example.com', '.example.com', false],
  ['https://app.example.com', 'other.com, APP.example.com', false],
  ['https://app.example.com', 'ple.com', true],
  ['https://app.example.com', '*', false],
])('through the proxy to %s with NO_PROXY %s: %s', (app, noProxy, through) => {
  const proxy = new URL('http://proxy:3128')
  expect(proxyFor(new URL(app), proxy, noProxy)).toBe(through ? proxy : null)
})

test('the back-off is a random part of a span that doubles up to its maximum, and starts again when it is reset', () => {
  const backOff = createBackOff({ shortestMs: 500, longestMs: 30_000, random: () => 0.5 })
  const waits = Array.from({ length: 9 }, () => backOff.next())
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000])
  expect(backOff.longest()).toBe(30_000)
  backOff.reset()
  expect(backOff.next()).toBe(250)
})

describe('the state folder', () => {
  const program = { python: 'python3', script: ANSIBLE_PARTS.locks }

  test('is taken by one of several agents, and the number of its starts only grows', async () => {
    const state = join(folder, 'lock')
    mkdirSync(state)
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => acquireStateLock(state, program)))
    const taken = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    expect(taken.map(({ generation }) => generation)).toEqual([1])
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(StateInUseError)
    }
    // The kernel's lock alone keeps others out, whatever stands in the file: its pid may be one of another container.
    const holder = { ...identifyProcess(process.pid), pid: 7, pid_namespace: 'pid:[1]', host: 'other', instance: 'o' }
    writeFileSync(join(state, 'generations', '1'), JSON.stringify(holder))
    const refused = await acquireStateLock(state, program).catch((error: unknown) => error)
    expect(String(refused)).toContain(
      'another agent (pid 7 in another container or PID namespace, host other) works on',
    )
    taken[0]?.close()
    const next = await acquireStateLock(state, program)
    expect(next).toMatchObject({ generation: 2, doubt: null })
    expect(readdirSync(join(state, 'generations'))).toEqual(['2'])
    next.close()
    // Where a file system has no locks, the name of the process keeps others out.
    await expect(acquireStateLock(state, program)).rejects.toThrow(`another agent (pid ${process.pid}) works on`)
  })

  test('an unreadable file of generations does not lock for ever', async () => {
    const state = join(folder, 'torn-lock')
    mkdirSync(state)
    const first = await acquireStateLock(state, program)
    first.close()
    writeFileSync(join(state, 'generations', '1'), '')
    const second = await acquireStateLock(state, program)
    expect(second.generation).toBe(2)
    second.close()
  })

  test('two processes that make the identity at once have the same one', async () => {
    const state = join(folder, 'identity')
    const identities = await Promise.all([1, 2, 3].map(() => loadIdentity(state)))
    expect(new Set(identities.map(({ fingerprint }) => fingerprint)).size).toBe(1)
  })
})

test('a process is distinguished from another one with the same pid', () => {
  const self = identifyProcess(process.pid)
  expect(self).not.toBeNull()
  if (!self) return
  expect(lookAtProcess(self)).toBe('runs')
  expect(lookAtProcess({ ...self, start_ticks: self.start_ticks + 1 })).toBe('gone')
  expect(lookAtProcess({ ...self, boot_id: 'another' })).toBe('gone')
  // Its pid says nothing here: it may be the pid of another process, or of none.
  expect(lookAtProcess({ ...self, pid_namespace: 'pid:[1]' })).toBe('unknown')
  expect(lookAtProcess({ ...self, pid_namespace: 'pid:[1]', boot_id: 'another' })).toBe('gone')
})

async function openCache(statePath: string, limitBytes: number): Promise<BlobCache> {
  const cache = await openBlobCache(statePath, limitBytes)
  await cache.prepare()
  return cache
}

test.each([
  ['http://proxy', 80],
  ['https://proxy', 443],
  ['http://proxy:3128', 3128],
  ['https://proxy:80', 80],
])('the port of the proxy %s is %i', (proxy, port) => {
  expect(portOf(new URL(proxy))).toBe(port)
})

describe('the file cache', () => {
  const put = (cache: BlobCache, text: string): string => {
    const sha256 = sha256Of(Buffer.from(text))
    const incoming = cache.receive(sha256)
    incoming.append(Buffer.from(text))
    expect(incoming.finish()).toBe(true)
    return sha256
  }

  test('takes no file with a wrong hash', async () => {
    const cache = await openCache(join(folder, 'cache-1'), 1000)
    const incoming = cache.receive(sha256Of(Buffer.from('good')))
    incoming.append(Buffer.from('evil'))
    expect(incoming.finish()).toBe(false)
    expect(await cache.has(sha256Of(Buffer.from('good')))).toBe(false)
    expect(readdirSync(join(folder, 'cache-1', 'cache', 'incoming'))).toEqual([])
  })

  test('removes the least recently used files, but none that a job holds', async () => {
    const cache = await openCache(join(folder, 'cache-2'), 25)
    const [first, second, third] = ['a'.repeat(10), 'b'.repeat(10), 'c'.repeat(10)].map((text) => put(cache, text))
    const release = cache.hold([String(first)])
    await cache.trim()
    expect(cache.bytes()).toBe(20)
    expect(await cache.has(String(first))).toBe(true)
    expect([await cache.has(String(second)), await cache.has(String(third))].filter(Boolean)).toHaveLength(1)
    release()
    const reopened = await openCache(join(folder, 'cache-2'), 0)
    expect(reopened.bytes()).toBe(20)
    await reopened.trim()
    expect(reopened.bytes()).toBe(0)
  })

  test('a file that the disk could not read is checked again before the next use', async () => {
    const cache = await openCache(join(folder, 'cache-5'), 1000)
    const sha256 = put(cache, 'whole')
    const path = join(folder, 'cache-5', 'cache', 'blobs', sha256.slice(0, 2), sha256)
    const destination = join(folder, 'copied')
    await cache.copyTo(sha256, destination, 0o600)
    // There is such a file: that says nothing about the blob.
    await expect(cache.copyTo(sha256, destination, 0o600)).rejects.toMatchObject({ code: 'EEXIST' })
    rmSync(path)
    // Its first byte can never be read: the system says EIO.
    symlinkSync('/proc/self/mem', path)
    expect(await cache.has(sha256)).toBe(true)
    await expect(cache.copyTo(sha256, join(folder, 'unread'), 0o600)).rejects.toMatchObject({ code: 'EIO' })
    rmSync(path)
    writeFileSync(path, 'other')
    expect(await cache.has(sha256)).toBe(false)
  })

  test('a file that the disk cannot read when it is looked at has to be sent again', async () => {
    const sha256 = put(await openCache(join(folder, 'cache-6'), 1000), 'whole')
    const path = join(folder, 'cache-6', 'cache', 'blobs', sha256.slice(0, 2), sha256)
    rmSync(path)
    // The system says EIO, as above.
    symlinkSync('/proc/self/mem', path)
    const cache = await openCache(join(folder, 'cache-6'), 1000)
    expect(await cache.has(sha256)).toBe(false)
    expect(put(cache, 'whole')).toBe(sha256)
    expect((await cache.read(sha256)).toString()).toBe('whole')
  })

  test('a file that two jobs hold stays until both have released it', async () => {
    const cache = await openCache(join(folder, 'cache-4'), 0)
    const [shared, own] = [put(cache, 'shared'), put(cache, 'own')]
    const [releaseOne, releaseOther] = [cache.hold([shared, own]), cache.hold([shared])]
    releaseOne()
    // Said twice it counts once.
    releaseOne()
    cache.drop(shared)
    await cache.trim()
    expect([await cache.has(shared), await cache.has(own)]).toEqual([true, false])
    releaseOther()
    cache.drop(shared)
    expect(await cache.has(shared)).toBe(false)
    expect(cache.bytes()).toBe(0)
  })

  test('a held file stays, at whatever moment of a trim it was found', async () => {
    const cache = await openCache(join(folder, 'cache-3'), 0)
    const sha256 = put(cache, 'wanted')
    for (let moment = 0; moment < 30; moment += 1) {
      const trimming = cache.trim()
      for (let turn = 0; turn < moment; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      const release = cache.hold([sha256])
      const isHere = await cache.has(sha256)
      await trimming
      if (isHere) expect((await cache.read(sha256)).toString()).toBe('wanted')
      release()
      if (!isHere) put(cache, 'wanted')
    }
  })
})

describe('the transfer of blobs', () => {
  const text = 'z'.repeat(10)
  const sha256 = sha256Of(Buffer.from(text))
  const part = (offset: number, length: number) =>
    ({ kind: 'blob', sha256, offset, size: 10, payload: Buffer.from(text).subarray(offset, offset + length) }) as const
  const key = (jobId: number) => ({ jobId, runId: String(jobId).repeat(32).slice(0, 32) })

  async function setting(name: string, timeoutMs = 60_000) {
    const asked: number[] = []
    const cache = await openCache(join(folder, name), 1000)
    const transfer = createBlobTransfer({
      cache,
      send: (message) => {
        if (message.type === 'want') asked.push(message.job_id)
      },
      timeoutMs,
      maxBlobBytes: 100,
    })
    return { asked, cache, transfer }
  }

  test('two jobs that need the same file get it in one transfer', async () => {
    const { asked, cache, transfer } = await setting('transfer-1')
    const signal = new AbortController().signal
    const both = Promise.all([transfer.fetch(key(1), [sha256], signal), transfer.fetch(key(2), [sha256], signal)])
    transfer.take(part(0, 4))
    transfer.take(part(4, 6))
    await both
    expect(asked).toEqual([1])
    expect(await cache.has(sha256)).toBe(true)
    transfer.close()
  })

  test('when the job that asked is given up, the other job asks for the file', async () => {
    const { asked, transfer } = await setting('transfer-2')
    const cancel = new AbortController()
    const first = transfer.fetch(key(1), [sha256], cancel.signal)
    const second = transfer.fetch(key(2), [sha256], new AbortController().signal)
    transfer.take(part(0, 4))
    cancel.abort(new Error('given up'))
    await expect(first).rejects.toThrow('given up')
    expect(asked).toEqual([1, 2])
    // The rest of the first answer, then the second answer from its beginning.
    transfer.take(part(6, 4))
    transfer.take(part(0, 4))
    transfer.take(part(4, 6))
    await second
    transfer.close()
  })

  test('no file is requested for a job that was given up', async () => {
    const { asked, transfer } = await setting('transfer-4')
    const cancels = [new AbortController(), new AbortController()]
    const fetches = cancels.map(({ signal }, index) => transfer.fetch(key(index + 1), [sha256], signal))
    const outcomes = Promise.allSettled(fetches)
    cancels[0]?.abort(new Error('given up'))
    expect(asked).toEqual([1, 2])
    cancels[1]?.abort(new Error('given up, too'))
    await outcomes
    expect(asked).toEqual([1, 2])
    // A later job asks for it from the beginning.
    const later = transfer.fetch(key(3), [sha256], new AbortController().signal)
    expect(asked).toEqual([1, 2, 3])
    transfer.take(part(0, 10))
    await later
    transfer.close()
  })

  test('a file that came and is missing again is asked for again', async () => {
    const { asked, transfer } = await setting('transfer-5')
    const signal = new AbortController().signal
    for (const job of [1, 2]) {
      const fetched = transfer.fetch(key(job), [sha256], signal)
      transfer.take(part(0, 10))
      await fetched
    }
    expect(asked).toEqual([1, 2])
    transfer.close()
  })

  test('a file that stops arriving, is too large, or is gone ends the waiting', async () => {
    const { transfer } = await setting('transfer-3', 40)
    const signal = new AbortController().signal
    await expect(transfer.fetch(key(1), [sha256], signal)).rejects.toThrow('sent no more')
    const large = transfer.fetch(key(2), [sha256], signal)
    transfer.take({ ...part(0, 4), size: 101 })
    await expect(large).rejects.toThrow('larger than this agent takes')
    const gone = transfer.fetch(key(3), [sha256], signal)
    transfer.gone(key(3), sha256)
    await expect(gone).rejects.toThrow('changed since the offer')
    transfer.close()
  })
})

test('parallel work stays within its limit, and its first failure is thrown', async () => {
  let running = 0
  let most = 0
  const work = forEachLimited([1, 2, 3, 4, 5, 6], 2, async (item) => {
    running += 1
    most = Math.max(most, running)
    await new Promise((resolve) => setImmediate(resolve))
    running -= 1
    if (item === 4) throw new Error('item 4')
  })
  await expect(work).rejects.toThrow('item 4')
  expect(most).toBe(2)
})
