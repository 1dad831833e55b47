import { SERVICE_NOTICES, watchdogPeriod } from '@holdfast/protocol'
import { expect, test } from 'vitest'

test('each notice is in the words of the service manager', () => {
  expect(SERVICE_NOTICES.ready('is\nup')).toEqual(['READY=1', 'STATUS=is up'])
  expect(SERVICE_NOTICES.status('waits')).toEqual(['STATUS=waits'])
  expect(SERVICE_NOTICES.reloading()).toEqual(['RELOADING=1', 'STATUS=reads its configuration anew'])
  expect(SERVICE_NOTICES.stopping('ends  now')).toEqual(['STOPPING=1', 'STATUS=ends now'])
  expect(SERVICE_NOTICES.alive()).toEqual(['WATCHDOG=1'])
})

test.each([
  [{ WATCHDOG_USEC: '30000000' }, 15_000],
  [{ WATCHDOG_USEC: '1' }, 0.0005],
  [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' }, 15_000],
  [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' }, null],
  [{ WATCHDOG_USEC: '0' }, null],
  [{ WATCHDOG_USEC: '-5' }, null],
  [{ WATCHDOG_USEC: 'soon' }, null],
  [{ WATCHDOG_USEC: 'Infinity' }, null],
  [{}, null],
])('with %j the process 7 shows every %s ms that it works', (environment, period) => {
  expect(watchdogPeriod(environment, 7)).toBe(period)
})
