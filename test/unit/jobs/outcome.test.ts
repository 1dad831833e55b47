import type { EndRecord } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { jobOutcomeOf } from '../../../control-plane/src/jobs/end/outcome.js'
import { endedWell } from '../../support/end-record.js'

const record = (changes: Partial<EndRecord>): EndRecord => ({ ...endedWell('0'.repeat(32), ''), ...changes })
const events = (changes: Partial<EndRecord['events']>) => ({ events: { ...record({}).events, ...changes } })

test.each<[Partial<EndRecord>, string | null, string, RegExp | null, RegExp | null]>([
  [{}, null, 'success', null, null],
  [{ message: 'some note' }, null, 'success', null, /^some note$/],
  [{ exit_code: 2 }, null, 'failed', /2: a host failed/, null],
  [{ exit_code: 77 }, null, 'failed', /77$/, null],
  [{ cause: 'exited', exit_code: null }, null, 'failed', /no status/, null],
  [{ cause: 'signaled', exit_code: null, signal: 'SIGKILL' }, null, 'failed', /SIGKILL/, null],
  [{ cause: 'spawn_failed', exit_code: null, message: 'no such program' }, null, 'failed', /^no such program$/, null],
  [{ cause: 'not_started', exit_code: null, ...events({ plugin_seen: false }) }, null, 'failed', /prepare/, null],
  [
    { cause: 'signaled', exit_code: null, ...events({ plugin_seen: false }) },
    null,
    'failed',
    /signal/,
    /no structured/,
  ],
  [{ cause: 'supervisor_lost', exit_code: null }, null, 'failed', /killed/, null],
  [{ cause: 'host_rebooted', exit_code: null }, null, 'failed', /restarted/, null],
  [{ cause: 'aborted', exit_code: null, aborted: true }, 'ann', 'aborted', /by ann/, null],
  [{ cause: 'aborted', exit_code: null }, null, 'aborted', /on the runner/, null],
  // A late abort does not hide a success.
  [{ exit_code: 0, aborted: false }, 'ann', 'success', null, /already ended/],
  [
    { cause: 'signaled', exit_code: null, signal: 'SIGINT', aborted: true, message: '7 (sleep) is left' },
    'ann',
    'failed',
    /SIGINT/,
    /ann.*7 \(sleep\) is left/,
  ],
  [events({ dropped: 2, errors: 1 }), null, 'success', null, /2 structured events were lost/],
  [
    { exit_code: 4, ...events({ plugin_seen: false, before_play: true }) },
    null,
    'failed',
    /before the first play/,
    null,
  ],
])('the outcome of %j, whose abort was asked for by %j, is %s', (end, abortedBy, status, reason, detail) => {
  const outcome = jobOutcomeOf(record(end), abortedBy)
  expect(outcome.status).toBe(status)
  expect(outcome.reason ?? '').toMatch(reason ?? /^$/)
  expect(outcome.detail ?? '').toMatch(detail ?? /^$/)
})
