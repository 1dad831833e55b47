import { expect, test } from 'vitest'
import { tellsOf } from '../../../control-plane/src/store/service/notification-events.js'

test.each([
  [{ onStatus: ['failed'] }, 'ended', 'failed', true],
  [{ onStatus: ['failed'] }, 'ended', 'success', false],
  [{ onStatus: ['any'] }, 'ended', 'success', true],
  [{ onStatus: ['any'] }, 'launch', 'running', false],
  [{ onEvent: ['launch'] }, 'launch', 'running', true],
  [{ onEvent: ['launch'] }, 'approve', 'running', false],
  [{ onEvent: ['any'] }, 'approve', 'running', true],
  [{ onEvent: ['any'] }, 'ended', 'success', false],
])('a form that wants %j tells of %s of a job that is %s: %j', (wanted, what, status, expected) => {
  expect(tellsOf({ recipients: [], channels: [], onStatus: [], onEvent: [], ...wanted }, what, status)).toBe(expected)
})
