import { expect, test } from 'vitest'
import { DISPATCHES, DISPATCH_MOVES, DISPATCH_OF_STATUS } from '../../control-plane/src/words/job-dispatch.js'
import { PLACE_STATES, STAGE_OF_DISPATCH } from '../../control-plane/src/words/job-stage.js'
import { JOB_STATUSES, OPEN_STATUSES, STATUS_MOVES } from '../../control-plane/src/words/job-status.js'
import { JOB_TYPES } from '../../control-plane/src/words/job-type.js'
import { NODE_STATUSES } from '../../control-plane/src/words/node-status.js'
import { RUNNER_STATES } from '../../control-plane/src/words/runner-state.js'
import { USER_TYPES, userTypeOf } from '../../control-plane/src/words/user-type.js'

/** Words that are stored and shown: databases of every release have them, and programs of users read them. */

test.each<[string, readonly string[], readonly string[]]>([
  [
    'statuses of a job',
    JOB_STATUSES,
    ['running', 'approve', 'success', 'failed', 'warning', 'aborted', 'rejected', 'abandoned'],
  ],
  ['statuses of a job that has not ended', OPEN_STATUSES, ['running', 'approve']],
  ['places of a job on its way', DISPATCHES, ['parked', 'queued', 'offered', 'claimed', 'driven', 'done']],
  ['places of a job, as people see them', PLACE_STATES, ['queued', 'offered', 'claimed', 'running', 'waiting', 'lost']],
  ['types of a job', JOB_TYPES, ['ansible', 'multistep', 'workflow']],
  [
    'statuses of a step',
    NODE_STATUSES,
    ['waiting', 'running', 'approve', 'success', 'failed', 'aborted', 'skipped', 'do not run'],
  ],
  ['states of a runner', RUNNER_STATES, ['waiting', 'approved', 'denied', 'revoked']],
  ['types of an account', USER_TYPES, ['local', 'ldap', 'azuread', 'oidc']],
])('the %s stay what they are', (_what, words, expected) => {
  expect(words).toEqual(expected)
})

test.each([
  ['running', ['approve', 'success', 'failed', 'warning', 'aborted', 'rejected', 'abandoned']],
  ['approve', ['running', 'rejected', 'failed', 'aborted']],
  ['abandoned', ['success', 'failed', 'warning', 'aborted']],
  ['success', []],
  ['failed', []],
  ['warning', []],
  ['aborted', []],
  ['rejected', []],
] as const)('a job that is %s may become %j', (status, moves) => {
  expect(STATUS_MOVES[status]).toEqual(moves)
})

test.each([
  ['parked', ['queued', 'driven', 'done'], 'waiting'],
  ['queued', ['offered', 'claimed', 'parked', 'done'], 'queued'],
  ['offered', ['queued', 'claimed', 'parked', 'done'], 'offered'],
  ['claimed', ['claimed', 'done'], 'claimed'],
  ['driven', ['parked', 'driven', 'done'], 'running'],
  ['done', ['done'], null],
] as const)('a job whose place is %s may go on to %j, and people see %s', (dispatch, moves, stage) => {
  expect(DISPATCH_MOVES[dispatch]).toEqual(moves)
  expect(STAGE_OF_DISPATCH[dispatch]).toBe(stage)
})

test('a job has its place by its status', () => {
  expect(DISPATCH_OF_STATUS.running).toEqual(['parked', 'queued', 'driven'])
  expect(DISPATCH_OF_STATUS.approve).toEqual(['parked'])
  expect(DISPATCH_OF_STATUS.abandoned).toEqual([])
  for (const status of ['success', 'failed', 'warning', 'aborted', 'rejected'] as const) {
    expect(DISPATCH_OF_STATUS[status]).toEqual(['done'])
  }
})

test('a type of an account from outside is one of them, or none', () => {
  expect(USER_TYPES.map(userTypeOf)).toEqual([...USER_TYPES])
  expect(['', 'Local', 'other'].map(userTypeOf)).toEqual([null, null, null])
})
