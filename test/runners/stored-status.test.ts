import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createStatusWriter } from '../../control-plane/src/runners/registration/connections/status-writer.js'
import { findRunner } from '../../control-plane/src/store/runners/runners.js'
import { insertTestRunner } from '../support/runner-rows.js'
import { openTestStore } from '../support/test-database.js'

test('a status is stored for its connection, and only the last one of a connection says that the runner has left', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-status-'))
  const store = await openTestStore(folder)
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const { id } = await store.write('test', (queries) =>
    insertTestRunner(queries, { name: 'edge', epoch: 3, connected_node: 'here' }),
  )
  const stored = async (epoch: number, runningJobs: number, how: { over?: boolean }) => {
    const statuses = createStatusWriter({ store, log: pino({ level: 'silent' }), changed: () => undefined })
    const rest = { agentMaxJobs: 4, draining: false, spoolBytes: 0, clockSkewMs: 0, lastSeen: 9 }
    statuses.note(id, epoch, { ...rest, runningJobs }, { urgent: false, visible: false, ...how })
    await statuses.close()
    const row = await findRunner(store.read, id)
    return [row?.runningJobs, row?.connectedNode]
  }
  expect(await stored(3, 1, {})).toEqual([1, 'here'])
  // An older connection says nothing any more.
  expect(await stored(2, 2, { over: true })).toEqual([1, 'here'])
  expect(await stored(3, 3, { over: true })).toEqual([3, null])
})
