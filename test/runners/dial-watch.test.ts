import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createLiveEvents } from '../../control-plane/src/live/live-events.js'
import { SOLE_NODE } from '../../control-plane/src/nodes/nodes.js'
import { createDialWatch } from '../../control-plane/src/runners/dialling/dial-watch.js'
import { heldTimers } from '../api/held-timers.js'
import { openTestStore } from '../support/test-database.js'

test('while the database cannot be read, the log says once that no addresses can be looked for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-dials-'))
  const opened = await openTestStore(folder)
  const clock = { now: () => Date.now() }
  const logged: string[] = []
  let isAway = true
  const watch = createDialWatch({
    clock,
    steady: clock,
    timers: heldTimers().timers,
    random: randomBytes,
    log: pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }),
    live: createLiveEvents(),
    nodes: SOLE_NODE,
    accept: () => undefined,
    store: {
      ...opened,
      get read() {
        if (isAway) throw new Error('the database is away')
        return opened.read
      },
    },
  })
  onTestFinished(async () => {
    await watch.close()
    await opened.close()
    rmSync(folder, { recursive: true })
  })
  /** A look that has ended, and what it had to say is said. */
  const looked = async (): Promise<void> => {
    watch.lookSoon()
    await watch.look().catch(() => undefined)
  }

  await looked()
  await looked()
  expect(logged).toEqual([expect.stringContaining('looking for runners to dial failed; it is tried again')])
  isAway = false
  await looked()
  isAway = true
  await looked()
  expect(logged).toHaveLength(2)
})
