import { pino } from 'pino'
import { expect, test } from 'vitest'
import { drain } from '../../../runner-agent/src/drain.js'

/**
 * Stops an agent without running jobs.
 * @param spooled how many jobs are in the spool at each look; after the last one there are none
 * @returns how many looks at the spool there were
 */
async function looksOfDrain(spooled: number[], state: 'approved' | 'waiting' = 'approved'): Promise<number> {
  let looks = 0
  const figures = { runningJobs: 0, claimingJobs: 0 }
  await drain({
    hostJobs: {
      drain: () => undefined,
      abortAll: () => undefined,
      figures: () =>
        ({
          ...figures,
          get spooledJobs() {
            looks += 1
            return spooled.shift() ?? 0
          },
        }) as never,
    },
    approvalWatch: { state },
    settings: { drainSeconds: 0, onStop: 'detach' },
    log: pino({ level: 'silent' }),
    isClosing: () => false,
  })
  return looks
}

test('an agent that stops waits until the control plane has stored what has ended', async () => {
  expect(await looksOfDrain([1])).toBe(2)
})

test('an agent that stops waits for nothing when its spool is empty, or no control plane takes it', async () => {
  expect(await looksOfDrain([])).toBe(1)
  expect(await looksOfDrain([1, 1], 'waiting')).toBe(0)
})
