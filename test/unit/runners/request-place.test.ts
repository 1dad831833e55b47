import { expect, test } from 'vitest'
import { placeFor } from '../../../control-plane/src/runners/registration/join/request-place.js'
import type { WaitingRunner } from '../../../control-plane/src/store/runners/runners.js'

const LIMITS = { mostWaiting: 4, mostWaitingOfAddress: 2 }

/**
 * The place of a request from network 1 in a list of at most 4 requests, 2 of one network. In the list a number is the
 * network of a request, `k` says that an admin keeps it, `g5` that its runner is gone and was seen at 5.
 */
function placeIn(list: string) {
  const waiting = list.split(' ').flatMap((text, index) => {
    const [, network, kept, gone] = /^(\d)(k?)(?:g(\d+))?$/.exec(text) ?? []
    const lastSeen = Number(gone ?? 0)
    const row = { id: index + 1, ip: `10.0.0.${network}`, keptBy: kept ? 'root' : null, lastSeen }
    return network === undefined ? [] : [{ row, isGone: gone !== undefined }]
  })
  const isConnected = ({ id }: WaitingRunner) => waiting[id - 1]?.isGone === false
  const place = placeFor(
    '10.0.0.1',
    waiting.map(({ row }) => row as WaitingRunner),
    isConnected,
    LIMITS,
  )
  return place.isFree ? place.instead : 'refused'
}

test.each([
  ['an empty list has room', '', null],
  ['a list with room', '1 2 3', null],
  ['a full list loses the request whose runner is gone the longest', '2 3g50 4g40 5', 3],
  ['a full network loses one of its own', '1 1g9 2g1', 2],
  ['and never one of another network', '1 1 2g5', 'refused'],
  ['a full list with everybody there loses the newest one of the largest network', '2 2 2 3', 3],
  ['of two networks that are alike, the one that asked first loses', '2 2 3 3', 2],
  ['the largest network must have more than the new one would have', '1 2 2 3', 'refused'],
  ['and it has', '1 2 2 2', 4],
  ['nobody has more than one', '2 3 4 5', 'refused'],
  ['a kept request stays, though its runner is gone', '2kg1 3 4 5', 'refused'],
  ['kept requests do not make a network large', '2k 2k 3 3', 4],
])('a request to join: %s', (_, list, place) => {
  expect(placeIn(list)).toBe(place)
})
