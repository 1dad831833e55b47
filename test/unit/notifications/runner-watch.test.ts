import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRunnerWatch } from '../../../control-plane/src/notifications/runner-watch.js'
import { insertTarget } from '../../../control-plane/src/store/service/notification-targets.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { addRunner } from '../../api/runner-row.js'
import { openTestStore } from '../../support/test-database.js'

let folder: string
let store: Store
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-watch-'))
  store = await openTestStore(folder)
  const target = { name: 'all', kind: 'webhook', url: 'https://a.example', secret: Buffer.alloc(1) } as const
  const wanted = { events: ['runner.lost', 'runner.back'], isEnabled: true, createdAt: 1, createdBy: 'admin' }
  await store.write('test', (queries) => insertTarget(queries, { ...target, ...wanted }))
  await addRunner({ store, clock: { now: () => 1 } }, 'north')
})
afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

/** `here`, `away`, `off`, `on` happen to the runner, `dead` to its node. After so many milliseconds it is looked. */
test.each([
  ['is lost once after the whole time, and back when it is there', 'here 0 away 0 1000 5000 here 1', ['lost', 'back']],
  ['is not lost a moment earlier', 'here 0 away 0 999', []],
  ['that is back in time was never lost, and its time begins anew', 'away 0 900 here 50 away 50 999', []],
  [
    'that is switched off is not watched, and has the whole time when it is switched on',
    'away 0 off 5000 on 0 999',
    [],
  ],
  ['is away when its node is dead', 'here 0 dead 0 1000', ['lost']],
])('a runner %s', async (_, steps, told) => {
  let now = 100_000
  let isAlive = true
  const clock = { now: () => now }
  // Two nodes look at the same time, and tell it once.
  const watches = [0, 1].map(() =>
    createRunnerWatch({ store, clock, steady: clock, nodes: { isAlive: () => isAlive }, lostMs: 1000 }),
  )
  const change = (changes: { connected_node?: string | null; enabled?: 0 | 1 }) =>
    store.write('test', (queries) => queries.updateTable('runner').set(changes).execute())
  await store.write('test', (queries) => queries.deleteFrom('notification_event').execute())
  await change({ enabled: 1, connected_node: 'n1' })
  for (const step of steps.split(' ')) {
    if (step === 'here') await change({ connected_node: 'n1' })
    else if (step === 'away') await change({ connected_node: null })
    else if (step === 'off') await change({ enabled: 0 })
    else if (step === 'on') await change({ enabled: 1 })
    else if (step === 'dead') isAlive = false
    else {
      now += Number(step)
      await Promise.all(watches.map((watch) => watch.look()))
    }
  }
  const rows = await store.read.selectFrom('notification_event').select('data').orderBy('id').execute()
  expect(rows.map(({ data }) => (JSON.parse(data) as { what: string }).what)).toEqual(told)
})
