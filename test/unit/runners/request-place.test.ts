import { describe, expect, test } from 'vitest'
import { continuesIdentity } from '../../../control-plane/src/runners/registration/join/clone-rule.js'
import { placeFor } from '../../../control-plane/src/runners/registration/join/request-place.js'
import type { WaitingRunner } from '../../../control-plane/src/store/runners/runners.js'

const LIMITS = { mostWaiting: 4, mostWaitingOfAddress: 2 }

type Given = readonly [network: number, how?: 'gone' | 'kept' | 'kept and gone', lastSeen?: number]

/** The answer for a request from network 1. Each entry of the list is a request; the ids count from 1. */
function placeIn(...list: Given[]) {
  const waiting = list.map(([network, how = '', lastSeen = 0], place) => ({
    row: { id: place + 1, ip: `10.0.0.${network}`, keptBy: how.startsWith('kept') ? 'root' : null, lastSeen },
    isGone: how.endsWith('gone'),
  }))
  const isConnected = ({ id }: WaitingRunner) => waiting[id - 1]?.isGone === false
  const rows = waiting.map(({ row }) => row as unknown as WaitingRunner)
  const place = placeFor('10.0.0.1', rows, isConnected, LIMITS)
  return place.isFree ? place.instead : place.text
}

describe('a place in the list of requests', () => {
  test('is free while the list, and the part of its address, have room', () => {
    expect(placeIn()).toBeNull()
    expect(placeIn([1], [2], [3])).toBeNull()
  })

  test('a full list loses the request whose runner is gone the longest', () => {
    expect(placeIn([2], [3, 'gone', 50], [4, 'gone', 40], [5])).toBe(3)
  })

  test('a full address loses one of its own, and never one of another address', () => {
    expect(placeIn([1], [1, 'gone', 9], [2, 'gone', 1])).toBe(2)
    expect(placeIn([1], [1], [2, 'gone'])).toBe('2 requests of this address wait for approval already')
  })

  test('a full list with everybody there loses the newest one of the largest address', () => {
    expect(placeIn([2], [2], [2], [3])).toBe(3)
    expect(placeIn([2], [3], [3], [4])).toBe(3)
    // Of two that are alike, the one that asked first.
    expect(placeIn([2], [2], [3], [3])).toBe(2)
  })

  test('the largest address must have more than the new one would have', () => {
    expect(placeIn([1], [2], [2], [3])).toBe('4 requests wait for approval already')
    expect(placeIn([1], [2], [2], [2])).toBe(4)
    expect(placeIn([2], [3], [4], [5])).toBe('4 requests wait for approval already')
  })

  test('requests that an admin marked stay, and do not make an address large', () => {
    expect(placeIn([2, 'kept and gone'], [3], [4], [5])).toBe('4 requests wait for approval already')
    expect(placeIn([2, 'kept'], [2, 'kept'], [3], [3])).toBe(4)
    expect(placeIn([2, 'kept'], [2, 'kept'], [2, 'kept'], [2])).toBe('4 requests wait for approval already')
  })
})

describe('a hello of the known process 5 of generation 7', () => {
  const known = { generation: 7, instance: 'five', replacedInstance: 'old' }
  test.each([
    ['the same process', 7, 'five', true],
    ['another process of that generation', 7, 'six', false],
    ['a later start', 8, 'six', true],
    ['an earlier start', 6, 'five', false],
    ['the process that an admin replaced', 9, 'old', false],
  ])('%s', (_, generation, instance, continues) => {
    expect(continuesIdentity(known, { generation, instance })).toBe(continues)
  })
})
