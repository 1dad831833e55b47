import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createGroupCommit } from '../../../control-plane/src/store/engine/group-commit.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'

test('a write that begins just when the one before ends is not forgotten', async () => {
  const done = () => Promise.resolve()
  const commits = createGroupCommit(
    { queries: {}, begin: done, commit: done, rollback: done, isPassing: () => false },
    { timeoutMs: 1000, pause: done, now: () => 0 },
  )
  for (let ticks = 0; ticks < 20; ticks += 1) {
    await commits.write('first', done)
    for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve()
    let isDone = false
    void commits.write('second', done).then(() => {
      isDone = true
    })
    await new Promise<void>((resolve) => setImmediate(resolve))
    expect([ticks, isDone]).toEqual([ticks, true])
  }
})

test('the store closes after many reads of the same kind at once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-store-'))
  const store = await openSqliteStore(join(folder, 'holdfast.db'))
  await Promise.all(Array.from({ length: 20 }, () => store.read.selectFrom('user').selectAll().execute()))
  await store.close()
  await rm(folder, { recursive: true })
})
