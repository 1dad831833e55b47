import type { EndRecord } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { isEnded, statusesBefore } from '../../../control-plane/src/jobs/record/status.js'
import { JOB_STATUSES, STATUS_MOVES } from '../../../control-plane/src/words/job-status.js'
import { jobOutcomeOf } from '../../../control-plane/src/jobs/end/outcome.js'
import { covers } from '../../interface/covers.js'
import { endedWell } from '../../support/end-record.js'

const NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

function record(changes: Partial<EndRecord>): EndRecord {
  return { ...endedWell('0'.repeat(32), ''), ...changes }
}

describe('outcome of a run', () => {
  test.each([
    [record({}), 'success', null],
    [record({ exit_code: 2 }), 'failed', 'ansible-playbook ended with 2: a host failed'],
    [record({ exit_code: 77 }), 'failed', 'ansible-playbook ended with 77'],
    [
      record({ cause: 'signaled', exit_code: null, signal: 'SIGKILL' }),
      'failed',
      'ansible-playbook was ended by SIGKILL',
    ],
    [record({ cause: 'spawn_failed', exit_code: null, message: 'no such program' }), 'failed', 'no such program'],
    [record({ cause: 'not_started', exit_code: null, message: 'no site.yml' }), 'failed', 'no site.yml'],
    [
      record({ cause: 'supervisor_lost', exit_code: null }),
      'failed',
      'the process that ran the playbook was killed on the runner',
    ],
    [record({ cause: 'host_rebooted', exit_code: null }), 'failed', 'the runner host restarted while the playbook ran'],
    [record({ cause: 'aborted', exit_code: null, aborted: true }), 'aborted', 'aborted by ann'],
  ] as const)('%#', (end, status, reason) => {
    expect(jobOutcomeOf(end, 'ann')).toMatchObject({ status, reason })
  })

  test.each([
    [{ cause: 'exited', exit_code: null }, 'failed', 'ansible-playbook ended with no status', null],
    [{ cause: 'signaled', exit_code: null, signal: null }, 'failed', 'ansible-playbook was ended by a signal', null],
    [{ cause: 'spawn_failed', exit_code: null }, 'failed', 'ansible-playbook could not be started', null],
    [{ cause: 'not_started', exit_code: null }, 'failed', 'the runner could not prepare the playbook', null],
    [{ cause: 'supervisor_lost', exit_code: null, message: 'killed' }, 'failed', 'killed', null],
    [{ cause: 'host_rebooted', exit_code: null, message: 'rebooted' }, 'failed', 'rebooted', null],
    [{ cause: 'aborted', exit_code: null }, 'aborted', 'aborted on the runner', null],
    [{ cause: 'exited', exit_code: 0, message: 'some note' }, 'success', null, 'some note'],
  ] as const)('without an abort: %j', (changes, status, reason, detail) => {
    expect(jobOutcomeOf(record(changes), null)).toEqual({ status, reason, detail })
  })

  test.each([
    [1, 'an error stopped it'],
    [2, 'a host failed'],
    [3, 'hosts were unreachable'],
    [4, 'a host was unreachable, or the playbook could not be read'],
    [5, 'bad or incomplete options'],
    [99, 'it was interrupted'],
    [250, 'an unexpected error'],
  ])('the exit status %i has a meaning', (exit_code, meaning) => {
    expect(jobOutcomeOf(record({ exit_code }), null).reason).toBe(
      `ansible-playbook ended with ${exit_code}: ${meaning}`,
    )
  })

  test('a playbook that never ran lacks no events, and one that was killed does', () => {
    const events = { length: 0, sha256: NOTHING, dropped: 0, errors: 0, plugin_seen: false }
    const detailOf = (cause: EndRecord['cause']) =>
      jobOutcomeOf(record({ cause, exit_code: null, events }), null).detail
    expect([detailOf('spawn_failed'), detailOf('not_started')]).toEqual([null, null])
    expect(detailOf('signaled')).toBe('no structured events: the event plugin did not start')
  })

  test('a late abort does not hide a success', () => {
    const { status, detail } = jobOutcomeOf(record({ exit_code: 0, aborted: false }), 'ann')
    expect(status).toBe('success')
    expect(detail).toBe('ann asked for an abort when the playbook had already ended')
  })

  test('after an incomplete abort the text names the remaining processes', () => {
    const message = 'some processes of the job could not be ended: 7 (sleep)'
    const end = record({ cause: 'signaled', exit_code: null, signal: 'SIGINT', aborted: true, message })
    const { status, detail } = jobOutcomeOf(end, 'ann')
    expect(status).toBe('failed')
    expect(detail).toBe(`ann asked for an abort; ${message}`)
  })

  test('cut and missing data is mentioned, and does not change the status', () => {
    const end = record({
      output: { length: 0, sha256: NOTHING, dropped_bytes: 12 },
      events: { length: 0, sha256: NOTHING, dropped: 2, errors: 1, plugin_seen: false },
    })
    const { status, detail } = jobOutcomeOf(end, null)
    expect(status).toBe('success')
    for (const word of [
      'no structured events',
      '12 bytes of output',
      '2 structured events were lost',
      '1 structured events',
    ]) {
      expect(detail).toContain(word)
    }
  })
})

describe('a run without a play', () => {
  test('counts as refused, and the missing events are not mentioned', () => {
    const events = { length: 0, sha256: NOTHING, dropped: 0, errors: 0, plugin_seen: false, before_play: true }
    expect(jobOutcomeOf(record({ exit_code: 4, events }), null)).toEqual({
      status: 'failed',
      reason:
        'ansible-playbook ended with 4: it refused the playbook, the inventory or an argument before the first play',
      detail: null,
    })
  })
})

describe('the table of statuses', () => {
  test('final statuses never change, and abandoned only changes to a real outcome', () => {
    covers('move.final')
    for (const status of ['success', 'failed', 'warning', 'aborted', 'rejected'] as const)
      expect(STATUS_MOVES[status]).toEqual([])
    expect(STATUS_MOVES.abandoned).toEqual(['success', 'failed', 'warning', 'aborted'])
  })

  test('statusesBefore is the table read backwards', () => {
    for (const to of JOB_STATUSES) {
      for (const from of JOB_STATUSES) {
        const forwards: readonly string[] = STATUS_MOVES[from]
        const backwards: readonly string[] = statusesBefore(to)
        expect(backwards.includes(from)).toBe(forwards.includes(to))
      }
    }
  })

  test('only running and approve have not ended', () => {
    expect(JOB_STATUSES.filter((status) => !isEnded(status))).toEqual(['running', 'approve'])
  })
})
