import { afterEach, expect, test } from 'vitest'
import { type JqThread, createJqThread } from '../../../control-plane/src/sources/jq-thread.js'
import { heldTimers } from '../../api/held-timers.js'

const script = new URL('../../../control-plane/dist/sources/jq-worker.js', import.meta.url)
let jq: JqThread | null = null
afterEach(() => jq?.close())

/** No limit ends a filter here, unless the test moves the time. */
const { timers } = heldTimers()

test('a filter that never ends is ended, and the next one runs', async () => {
  const held = heldTimers()
  jq = createJqThread(held.timers, script)
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
  jq = createJqThread(held.timers, new URL('data:text/javascript,setInterval(() => undefined, 1000)'))
  const first = jq.run(null, '.')
  const second = jq.run(null, '.')
  held.move(60_000)
  await expect(first).rejects.toThrow('jq was not ready within 60000 ms')
  await Promise.all([expect(second).rejects.toThrow('the service is stopping'), jq.close()])
  expect(held.count()).toBe(0)
})

test('a filter that needs too much memory fails, and the next one runs', async () => {
  jq = createJqThread(timers, script)
  await expect(jq.run(null, '[range(1e9)] | length')).rejects.toThrow('it broke down')
  await expect(jq.run({ a: 1 }, '.a')).resolves.toBe(1)
})

test('a filter reads neither files nor the environment', async () => {
  jq = createJqThread(timers, script)
  await expect(jq.run(null, 'include "/etc/passwd"; .')).rejects.toThrow('jq:')
  await expect(jq.run(null, '$ENV | keys')).resolves.not.toContain('NODE_ENV')
  await expect(jq.run(null, 'input_filename')).resolves.toBe('/dev/stdin')
})

test('the bundle and the build carry the engine', async () => {
  jq = createJqThread(timers, new URL('../../../control-plane/bundle/jq-worker.js', import.meta.url))
  await expect(jq.run([1, 2], 'add')).resolves.toBe(3)
})
