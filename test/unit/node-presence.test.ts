import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createPresence } from '../../control-plane/src/nodes/presence.js'
import { listNodes } from '../../control-plane/src/store/service/nodes.js'
import { heldTimers } from '../api/held-timers.js'
import { openTestStore } from '../support/test-database.js'

test('a node that starts takes the place of the one that had its address, and is gone at its end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-presence-'))
  const store = await openTestStore(folder)
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const log = { info: () => undefined, warn: () => undefined }
  const node = (id: string) =>
    createPresence({ store, clock: { now: () => 1 }, timers: heldTimers().timers, log, id, version: '1' })
  const ids = async () => (await listNodes(store.read)).map(({ id }) => id)
  await node('a').start('host:1')
  await node('b').start('host:2')
  const c = node('c')
  await c.start('host:1')
  expect(await ids()).toEqual(['b', 'c'])
  await c.close()
  expect(await ids()).toEqual(['b'])
})
