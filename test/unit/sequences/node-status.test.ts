import { expect, test } from 'vitest'
import { isFinalNodeStatus, nodeStatusOf, requireLegalMove } from '../../../control-plane/src/sequences/node-status.js'
import { NODE_STATUSES, type NodeStatus } from '../../../control-plane/src/words/node-status.js'

test.each<[NodeStatus, NodeStatus[]]>([
  ['waiting', ['running', 'approve', 'success', 'failed', 'aborted', 'skipped', 'do not run']],
  ['approve', ['running', 'success', 'failed', 'aborted', 'do not run']],
  ['running', ['success', 'failed', 'aborted']],
  ['success', []],
  ['failed', []],
  ['aborted', []],
  ['skipped', []],
  ['do not run', []],
])('a step or node that is %s can only become what follows it', (from, next) => {
  const legal = NODE_STATUSES.filter((to) => {
    try {
      requireLegalMove(from, to)
      return true
    } catch (error) {
      expect(String(error)).toContain(`cannot go from ${from} to ${to}`)
      return false
    }
  })
  expect(legal.toSorted()).toEqual(next.toSorted())
  expect(isFinalNodeStatus(from)).toBe(next.length === 0)
})

test('a status is read as it was stored, and an unknown one is refused', () => {
  for (const status of NODE_STATUSES) expect(nodeStatusOf(status)).toBe(status)
  expect(() => nodeStatusOf('paused')).toThrow('unknown status "paused"')
})
