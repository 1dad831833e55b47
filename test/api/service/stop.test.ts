import { expect, test } from 'vitest'
import { heldTimers } from '../held-timers.js'
import { startServer } from '../server.js'

test('a control plane that has stopped leaves no timer behind', async () => {
  const held = heldTimers()
  const settings = { AUDIT_RETENTION_DAYS: '1', JOB_RETENTION_DAYS: '1', AUDIT_FILE: 'audit.jsonl' }
  const server = await startServer({ timers: held.timers, settings })
  expect(held.count()).toBeGreaterThan(5)
  await server.call('POST', '/notification/test-mail', { token: server.admin, json: { to: 'ann@example.com' } })
  await server.close()
  expect(held.count()).toBe(0)
})
