import { afterEach, expect, test } from 'vitest'
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
    run: (value: unknown, filter: string) => made.run(value, filter, { callers: createCallers('ann'), signal: never }),
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

test('functions that jq 1.8 dropped are there', async () => {
  jq = started(timers, script)
  await expect(jq.run({ a: { b: 1 }, c: [2] }, '[leaf_paths]')).resolves.toEqual([
    ['a', 'b'],
    ['c', 0],
  ])
  await expect(jq.run(2, 'pow10')).resolves.toBe(100)
  await expect(jq.run(0, 'dateadd("seconds"; 60) | datesub("seconds"; 60) | date')).resolves.toBe(
    '1970-01-01T00:00:00Z',
  )
})

test.each<[filter: string, value: unknown, result: unknown]>([
  ['map(ltrimstr("a"))', ['ab', null, 1, ['a']], ['b', null, 1, ['a']]],
  ['map(rtrimstr("ü"))', ['aü', '', {}], ['a', '', {}]],
  ['ltrimstr(1), rtrimstr("")', 'a1', ['a1', 'a1']],
  ['[last(.[])]', [], [null]],
  ['last(.[]), last', [1, 2], [2, 2]],
  ['[limit(-1; .[])], [limit(0; .[])], [limit(1; .[])]', [1, 2], [[1, 2], [], [1]]],
])('%s gives what jq 1.7 gives', async (filter, value, result) => {
  jq = started(timers, script)
  await expect(jq.run(value, filter)).resolves.toEqual(result)
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

test.each<[value: unknown, filter: string, result: unknown]>([
  [3072, 'fn2KB', 3],
  [3 * 2 ** 20, 'fn2MB', 3],
  [3 * 2 ** 30, 'fn2GB', 3],
  [2.5, 'fnRound0', 3],
  [1.25, 'fnRound1', 1.3],
  [1.125, 'fnRound2', 1.13],
  [1.125, 'fnRound', 1.13],
  [[1, 2], '.[]', [1, 2]],
  [[1, 2], '.[0]', 1],
  [[1, 2], 'empty', null],
  [undefined, '.', null],
])('of %j the filter %s makes %j', async (value, filter, result) => {
  jq = started(timers, script)
  expect(await jq.run(value, filter)).toEqual(result)
})

test('a wrong filter says why, and a result has an end', async () => {
  jq = started(timers, script)
  await expect(jq.run(1, '.a')).rejects.toThrow(/jq: .*Cannot index number/)
  await expect(jq.run(1, '.a | gone')).rejects.toThrow('gone/0 is not defined')
  await expect(jq.run(null, '"a" * 9000000')).rejects.toThrow('jq: the result is too long')
})
