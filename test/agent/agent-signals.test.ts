import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createSetting } from './setting.js'

test('a start that hangs is stopped by the first signal, and not by its default action', async () => {
  const setting = await createSetting()
  const programs = join(setting.folder, 'hanging')
  mkdirSync(programs)
  // Asked for its version at every start. `exec`: the agent ends what it has started.
  writeFileSync(join(programs, 'ansible-playbook'), '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 })
  const agent = setting.start({ PATH: `${programs}:${process.env.PATH ?? ''}` })
  await agent.logged('probes are answered here')
  agent.signal('SIGTERM')
  expect(await agent.exited()).toEqual({ code: 0, signal: null })
  await agent.logged('stopped before the start was complete')
  expect(setting.controlPlane.connected).toBeNull()
})
