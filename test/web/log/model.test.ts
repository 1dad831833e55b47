import { expect, test } from 'vitest'
import type { OutputSource } from '../../../control-plane/web/src/live/output-source.js'
import { createLogModel } from '../../../control-plane/web/src/log/log-model.js'
import { BLOCK_BYTES } from '../../../control-plane/web/src/log/store.js'

/** Lines of 64 bytes, so that a block has 1024 of them. */
const LINES = 400 * 1024
const FAILS = 300_000
const lineAt = (line: number) => `${line === FAILS ? 'fatal: [web1]' : 'ok: [web1]'} ${line} `.padEnd(63, '.') + '\n'
const text = (first: number, count: number) =>
  new TextEncoder().encode(Array.from({ length: count }, (_, index) => lineAt(first + index)).join(''))

const source: OutputSource = {
  index: () => Promise.resolve(null),
  part: (offset, length) => Promise.resolve({ bytes: text(offset / 64, length / 64), generation: 0 }),
  follow: () => Promise.reject(new Error('nobody follows')),
  outline: () => Promise.reject(new Error('nobody asks')),
  search: () => Promise.reject(new Error('nobody searches')),
}

test('the key for the next failure also leads to one that is far from what is in memory, in both directions', async () => {
  const model = createLogModel(source, () => undefined)
  const points = Array.from(
    { length: (LINES * 64) / BLOCK_BYTES },
    (_, block) => [block * BLOCK_BYTES, block * 1024] as const,
  )
  model.store.takeIndex({ bytes: LINES * 64, lines: LINES, generation: 0, points })
  model.grown()
  const task = { kind: 'task' as const, name: 'a', summary: '', isDull: false }
  model.setOutline([
    { ...task, id: 1, line: 10, hasFailed: false },
    { ...task, id: 2, line: FAILS - 5_000, hasFailed: true },
    { ...task, id: 3, line: FAILS + 5_000, hasFailed: false },
  ])
  model.resize(360, 18, 80)
  for (const [start, by] of [
    [0, 1],
    [LINES - 1, -1],
  ] as const) {
    model.goTo(start)
    for (let presses = 0; presses < 20 && model.cursor !== FAILS; presses += 1) {
      model.moveFailure(by)
      model.visible()
      await expect.poll(() => model.lines.text(model.cursor)).not.toBeNull()
    }
    expect([by, model.cursor]).toEqual([by, FAILS])
  }
  model.stop()
})
