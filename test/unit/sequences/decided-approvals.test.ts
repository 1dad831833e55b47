import { expect, test } from 'vitest'
import type { JobApproval } from '../../../control-plane/src/jobs/record/approval.js'
import type { NodeState } from '../../../control-plane/src/sequences/kind.js'
import { decidedApprovals } from '../../../control-plane/src/sequences/workflows/decided-approvals.js'

const APPROVAL: JobApproval = {
  title: null,
  message: null,
  message_text: null,
  roles: [],
  notifications: [],
  allowSelf: false,
  state: 'waiting',
  decided_by: null,
  decided_by_type: null,
  decided_by_id: null,
  decided_at: null,
  subject: { manifest_sha256: null, form_sha256: null },
  forced: false,
}

const node = (more: Partial<NodeState> = {}): NodeState => ({
  identifier: 'ask',
  status: 'approve',
  subjobId: null,
  startTime: 1,
  endTime: null,
  reason: null,
  approval: APPROVAL,
  dueTime: null,
  artifacts: {},
  ...more,
})

const decided = (more: Partial<NodeState>, serviceTime = 0, seconds = 60) =>
  decidedApprovals([node(more)], serviceTime, () => seconds)

test('a decision ends the wait', () => {
  expect(decided({ approval: { ...APPROVAL, state: 'approved' } })).toEqual([
    { identifier: 'ask', status: 'success', reason: null },
  ])
  const by = { state: 'rejected', decided_by: 'ann', decided_by_type: 'local' } as const
  expect(decided({ approval: { ...APPROVAL, ...by } })).toEqual([
    { identifier: 'ask', status: 'failed', reason: expect.stringMatching(/^rejected by .*ann/) as string },
  ])
  expect(decided({ approval: { ...APPROVAL, state: 'rejected' } })).toEqual([
    { identifier: 'ask', status: 'failed', reason: 'rejected by somebody' },
  ])
})

test('a decision that came in time counts, also when it is read later', () => {
  expect(decided({ approval: { ...APPROVAL, state: 'approved' }, dueTime: 10 }, 1000)).toMatchObject([
    { status: 'success' },
  ])
})

test('the time is over at its end, and not before', () => {
  expect(decided({ dueTime: 1000 }, 999)).toEqual([])
  expect(decided({ dueTime: 1000 }, 1000)).toEqual([
    { identifier: 'ask', status: 'failed', reason: 'nobody decided within 60 seconds' },
  ])
  expect(decided({ dueTime: 1000 }, 1001, 1)).toMatchObject([{ reason: 'nobody decided within 1 second' }])
  expect(decided({ dueTime: null }, 1e9)).toEqual([])
  // One that is asked for without a stored approval waits, too.
  expect(decided({ approval: null, dueTime: 1000 }, 999)).toEqual([])
})

test.each(['waiting', 'running', 'success', 'failed', 'aborted', 'skipped', 'do not run'] as const)(
  'a node that is %s waits for no approval',
  (status) => {
    expect(decided({ status, approval: { ...APPROVAL, state: 'approved' }, dueTime: 1 }, 10)).toEqual([])
  },
)
