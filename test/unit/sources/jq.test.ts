import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { createJq } from '../../../control-plane/src/sources/jq.js'
import { createCallers } from '../../../control-plane/src/time/callers.js'
import type { Timers } from '../../../control-plane/src/time/timers.js'
import { heldTimers } from '../../api/held-timers.js'

const script = new URL('../../../control-plane/dist/sources/jq-worker.js', import.meta.url)
let jq: ReturnType<typeof started> | null = null
afterEach(() => jq?.close())

const never = new AbortController().signal

function started(given: Timers, worker: URL) {
  const made = createJq(given, worker)
  return {
    run: (value: unknown, filter: string, caller = 'ann', more: { signal?: AbortSignal; isFromValue?: boolean } = {}) =>
      made.run(value, filter, { callers: createCallers(caller), signal: never, ...more }),
    close: () => made.close(),
  }
}

/** No limit ends a filter here, unless the test moves the time. */
const { timers } = heldTimers()

test('a filter that never ends is ended, and the next one runs', async () => {
  const held = heldTimers()
  jq = started(held.timers, script)
  const endless = jq.run(null, 'last(range(1e15))')
  const next = jq.run([{ name: 'a' }, { name: 'b' }], '.[].name')
  await expect.poll(() => held.waitsFor(5000)).toBe(true)
  held.move(5000)
  await expect(endless).rejects.toThrow('jq took longer than 5000 ms')
  await expect(next).resolves.toEqual(['a', 'b'])
  expect(held.count()).toBe(0)
})

test('a thread that is never ready is given up, and a stop refuses what waits', async () => {
  const held = heldTimers()
  jq = started(held.timers, new URL('data:text/javascript,setInterval(() => undefined, 1000)'))
  const first = jq.run(null, '.')
  const second = jq.run(null, '.')
  await expect.poll(() => held.waitsFor(60_000)).toBe(true)
  held.move(60_000)
  await expect(first).rejects.toThrow('jq was not ready within 60000 ms')
  const stopped = expect(second).rejects.toThrow('the service is stopping')
  await jq.close()
  await stopped
  expect(held.count()).toBe(0)
})

test('a thread that is given up works no more, nor does the one that is there at a stop', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-jq-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  // A file that a thread has open is closed when the thread ends.
  const file = join(folder, 'open')
  const opens = `import { openSync } from 'node:fs'; openSync(${JSON.stringify(file)}, 'w'); setInterval(() => 0, 1000)`
  const isAtWork = () =>
    readdirSync('/proc/self/fd').some((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`) === file
      } catch {
        return false
      }
    })
  const held = heldTimers()
  jq = started(held.timers, new URL(`data:text/javascript,${encodeURIComponent(opens)}`))
  const given = expect(jq.run(null, '.')).rejects.toThrow('jq was not ready')
  await expect.poll(isAtWork).toBe(true)
  held.move(60_000)
  await given
  await expect.poll(isAtWork).toBe(false)
  const stopped = expect(jq.run(null, '.')).rejects.toThrow('the service is stopping')
  await expect.poll(isAtWork).toBe(true)
  await jq.close()
  expect(isAtWork()).toBe(false)
  await stopped
})

test('a filter that needs too much memory fails, and the next one runs', async () => {
  jq = started(timers, script)
  await expect(jq.run(null, '[range(1e9)] | length')).rejects.toThrow('it broke down')
  await expect(jq.run({ a: 1 }, '.a')).resolves.toBe(1)
})

test('a filter reads neither files nor the environment', async () => {
  jq = started(timers, script)
  await expect(jq.run(null, 'include "/etc/passwd"; .')).rejects.toThrow('jq:')
  await expect(jq.run(null, '$ENV | keys')).resolves.not.toContain('NODE_ENV')
  await expect(jq.run(null, 'input_filename')).resolves.toBe('/dev/stdin')
})

test('the bundle and the build carry the engine', async () => {
  jq = started(timers, new URL('../../../control-plane/bundle/jq-worker.js', import.meta.url))
  await expect(jq.run([1, 2], 'add')).resolves.toBe(3)
})

test('a stop refuses what runs and what waits, and later filters', async () => {
  const running = (jq = started(timers, new URL('data:text/javascript,setInterval(() => undefined, 1000)')))
  const all = Promise.allSettled([1, 2, 3].map(() => running.run(null, '.')))
  await new Promise((resolve) => setImmediate(resolve))
  await jq.close()
  const stopping = { status: 'rejected', reason: { message: 'the service is stopping' } }
  expect(await all).toMatchObject([stopping, stopping, stopping])
  await expect(jq.run(null, '.')).rejects.toThrow('the service is stopping')
})

/** It never ends by itself. */
const ENDLESS = 'last(range(1e15))'

test('a caller with many endless filters does not keep another one waiting', async () => {
  const running = (jq = started(timers, script))
  const endless = Promise.allSettled(Array.from({ length: 20 }, () => running.run(null, ENDLESS)))
  expect(await jq.run([1, 2], 'add', 'bob')).toBe(3)
  await jq.close()
  await endless
})

test('when every thread is busy, the next turn is for the caller who has none', async () => {
  const held = heldTimers()
  const running = (jq = started(held.timers, script))
  const endless = ['ann', 'ann', 'ann', 'bob', 'bob', 'bob'].map((caller) => running.run(null, ENDLESS, caller))
  const refused = Promise.allSettled(endless)
  const other = running.run(1, '.', 'cem')
  await expect.poll(() => held.countOf(5000)).toBe(2)
  held.move(5000)
  expect(await other).toBe(1)
  await running.close()
  await refused
})

test('a filter that nobody waits for any more is dropped, also while it runs', async () => {
  const running = (jq = started(timers, script))
  const stops = [new AbortController(), new AbortController()]
  const dropped = Promise.allSettled(stops.map(({ signal }) => running.run(null, ENDLESS, 'ann', { signal })))
  const next = running.run(1, '.', 'ann')
  await new Promise((resolve) => setImmediate(resolve))
  for (const stop of stops) stop.abort()
  const reason = { message: 'jq: nobody waits for it any more' }
  expect(await dropped).toMatchObject([{ reason }, { reason }])
  expect(await next).toBe(1)
})

test('a filter that people may have chosen has less time', async () => {
  const held = heldTimers()
  jq = started(held.timers, script)
  const endless = jq.run(null, ENDLESS, 'ann', { isFromValue: true })
  const refused = expect(endless).rejects.toThrow('jq took longer than 1000 ms')
  await expect.poll(() => held.waitsFor(1000)).toBe(true)
  held.move(1000)
  await refused
})

test('a thread that ends or breaks is told, and the next filter gets a new one', async () => {
  jq = started(timers, new URL('data:text/javascript,process.exit(1)'))
  await expect(jq.run(null, '.')).rejects.toThrow('jq ended')
  await expect(jq.run(null, '.')).rejects.toThrow('jq ended')
  await jq.close()
  jq = started(timers, new URL('data:text/javascript,throw new Error()'))
  await expect(jq.run(null, '.')).rejects.toThrow('jq broke down')
})

test('a filter may call the functions that convert bytes and round numbers', async () => {
  const thread = started(timers, script)
  jq = thread
  const results = [
    ['fn2KB', 3072, 3],
    ['fn2MB', 3 * 2 ** 20, 3],
    ['fn2GB', 3 * 2 ** 30, 3],
    ['fnRound0', 2.5, 3],
    ['fnRound1', 2.25, 2.3],
    ['fnRound2', 2.345, 2.35],
    ['fnRound', 2.345, 2.35],
  ] as const
  for (const [name, value, result] of results) {
    expect(await thread.run({ a: value }, `.a | ${name}`), name).toBeCloseTo(result, 10)
  }
})

test('a filter gives its result, a list of several, or null for none', async () => {
  const thread = (jq = started(timers, script))
  const results = ['.', '.[]', 'empty', '.[0], null', '.[0] | tostring'].map((filter) => thread.run([1, 2], filter))
  expect(await Promise.all(results)).toEqual([[1, 2], [1, 2], null, [1, null], '1'])
  expect(await thread.run(undefined, '.')).toBeNull()
  await expect(thread.run(1, '.a')).rejects.toThrow(/jq: .*Cannot index number/)
})

test('a result has 8 MiB of text at most, and not one character more', async () => {
  const thread = started(timers, script)
  jq = thread
  const outcome = (length: number) =>
    thread.run(null, `"a" * ${length}`).then(
      (value) => String(value).length,
      (error: Error) => error.message,
    )
  // A text has two quotation marks.
  const most = 8 * 1024 * 1024 - 2
  expect([await outcome(most), await outcome(most + 1)]).toEqual([most, 'jq: the result is too long'])
})
