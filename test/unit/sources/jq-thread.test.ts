import { afterEach, expect, test } from 'vitest'
import { type JqThread, createJqThread } from '../../../control-plane/src/sources/jq-thread.js'

const script = new URL('../../../control-plane/dist/sources/jq-worker.js', import.meta.url)
let jq: JqThread | null = null
afterEach(() => jq?.close())

test('a filter that never ends is ended, and the next one runs', async () => {
  jq = createJqThread(script, 300)
  const endless = jq.run(null, 'last(range(1e15))')
  const next = jq.run([{ name: 'a' }, { name: 'b' }], '.[].name')
  await expect(endless).rejects.toThrow('jq took longer than 300 ms')
  await expect(next).resolves.toEqual(['a', 'b'])
})

test('a filter that needs too much memory fails, and the next one runs', async () => {
  jq = createJqThread(script, 60_000)
  await expect(jq.run(null, '[range(1e9)] | length')).rejects.toThrow('it broke down')
  await expect(jq.run({ a: 1 }, '.a')).resolves.toBe(1)
})

test('a filter reads neither files nor the environment', async () => {
  jq = createJqThread(script, 60_000)
  await expect(jq.run(null, 'include "/etc/passwd"; .')).rejects.toThrow('jq:')
  await expect(jq.run(null, '$ENV | keys')).resolves.not.toContain('NODE_ENV')
  await expect(jq.run(null, 'input_filename')).resolves.toBe('/dev/stdin')
})

test('the bundle and the build carry the engine', async () => {
  jq = createJqThread(new URL('../../../control-plane/bundle/jq-worker.js', import.meta.url), 60_000)
  await expect(jq.run([1, 2], 'add')).resolves.toBe(3)
})
