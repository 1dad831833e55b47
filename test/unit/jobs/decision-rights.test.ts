import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import { HoldfastError } from '../../../control-plane/src/errors.js'
import {
  requireMayApprove,
  requireMayReject,
  requireRightToApprove,
  requireRightToReject,
  requireTaken,
} from '../../../control-plane/src/jobs/approve/decision-rights.js'
import { awaitedApproval, decided } from '../../../control-plane/src/jobs/record/approval.js'
import type { JobSummaryRow } from '../../../control-plane/src/store/jobs/jobs.js'
import { caller } from './launch-parts.js'

/** Who may decide about which job: 403 and 409 in their order. */
const OWNER = 1
const owner: Caller = { ...caller, id: OWNER, username: 'ann', roles: [] }
const owningOps: Caller = { ...owner, roles: ['ops'] }
const ops: Caller = { ...caller, id: 2, username: 'ben', roles: ['ops'] }
const other: Caller = { ...caller, id: 3, username: 'cem', roles: ['dev'] }
const seesAll: Caller = { ...other, options: { ...other.options, showAllJobLogs: true } }
const admin: Caller = { ...caller, id: 4, username: 'root', isAdmin: true, roles: [] }
const owningAdmin: Caller = { ...admin, id: OWNER }

function approval(allowSelf = false) {
  const asked = { title: null, message: null, roles: ['ops'], notifications: [], allowSelf }
  return awaitedApproval(asked, {}, { manifest_sha256: null, form_sha256: null })
}

function job(status: JobSummaryRow['status'], given: object | null = approval()): JobSummaryRow {
  const row: Pick<JobSummaryRow, 'id' | 'user_id' | 'status' | 'approval'> = {
    id: 9,
    user_id: OWNER,
    status,
    approval: given === null ? null : JSON.stringify(given),
  }
  return row as JobSummaryRow
}

function answerOf(check: () => void): true | string {
  try {
    check()
    return true
  } catch (error) {
    if (error instanceof HoldfastError) return error.code
    throw error
  }
}

describe('a job that waits for an approval', () => {
  test.each<[string, Caller, boolean, true | string, true | string]>([
    ['its owner', owner, false, 'not_an_approver', true],
    ['its owner, who may approve their own jobs', owner, true, 'not_an_approver', true],
    ['its owner with the role', owningOps, false, 'own_job', true],
    ['its owner with the role, who may approve their own jobs', owningOps, true, true, true],
    ['somebody with the role', ops, false, true, true],
    ['somebody without the role', other, false, 'not_an_approver', 'not_an_approver'],
    ['somebody who sees every job', seesAll, false, 'not_an_approver', 'not_an_approver'],
    ['an admin', admin, false, true, true],
    ['an admin whose own job it is', owningAdmin, false, true, true],
  ])('%s', (_, who, allowSelf, approves, rejects) => {
    const waiting = job('approve', approval(allowSelf))
    expect(answerOf(() => requireRightToApprove(who, waiting))).toBe(approves)
    expect(answerOf(() => requireMayApprove(who, waiting))).toBe(approves)
    expect(answerOf(() => requireRightToReject(who, waiting))).toBe(rejects)
    expect(answerOf(() => requireMayReject(who, waiting))).toBe(rejects)
  })
})

describe('a job that does not wait any more', () => {
  const past = job('running', decided(approval(), 'approved', ops, 1))

  test.each<[string, Caller, true | string]>([
    ['its owner hears that first', owner, 'not_waiting'],
    ['the role comes first for others', other, 'not_an_approver'],
    ['and for who sees every job', seesAll, 'not_an_approver'],
    ['who has the role may have been late, which the decision itself says', ops, true],
  ])('%s', (_, who, answer) => {
    expect(answerOf(() => requireRightToApprove(who, past))).toBe(answer)
    expect(answerOf(() => requireRightToReject(who, past))).toBe(answer)
  })

  test.each([owner, ops, other, admin])('has no button for a decision: $username', (who) => {
    expect(answerOf(() => requireMayApprove(who, past))).toBe('not_waiting')
    expect(answerOf(() => requireMayReject(who, past))).toBe('not_waiting')
  })
})

test.each<[string, Caller, string]>([
  ['its owner', owner, 'not_waiting'],
  ['who sees every job', seesAll, 'not_waiting'],
  ['an admin', admin, 'not_waiting'],
  ['somebody else', other, 'not_an_approver'],
])('a job that never needed an approval does not wait for one, as it says to %s', (_, who, answer) => {
  const never = job('success', null)
  expect(answerOf(() => requireRightToApprove(who, never))).toBe(answer)
  expect(answerOf(() => requireRightToReject(who, never))).toBe(answer)
})

describe('a decision that was not stored', () => {
  test('is refused with what happened to the job instead', () => {
    const textOf = (row: JobSummaryRow | null) => () => requireTaken({ job: row, isTaken: false }, 9)
    expect(textOf(null)).toThrow('There is no job 9')
    expect(textOf(job('running', decided(approval(), 'approved', ops, 1)))).toThrow(/: it was approved by ben$/)
    expect(textOf(job('aborted', decided(approval(), 'rejected', ops, 1)))).toThrow(/: it was rejected by ben$/)
    expect(textOf(job('aborted'))).toThrow(/: its status is aborted$/)
    expect(textOf(job('success', null))).toThrow(/: its status is success$/)
  })

  test('is none when it was stored', () => {
    expect(() => requireTaken({ job: job('running'), isTaken: true }, 9)).not.toThrow()
    expect(answerOf(() => requireTaken({ job: null, isTaken: true }, 9))).toBe('job_not_found')
  })
})
