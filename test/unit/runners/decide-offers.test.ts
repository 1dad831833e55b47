import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  decideOffers,
  decideRefusal,
  type OfferFacts,
} from '../../../control-plane/src/runners/offers/decide-offers.js'

const READY: OfferFacts = {
  isOpen: true,
  isStarted: true,
  isResting: false,
  capacity: { enabled: true, draining: false, maxJobs: 3 },
  heldJobs: 1,
  isQueueEmpty: false,
}

describe('the next step of offers', () => {
  test.each<[what: string, change: Partial<OfferFacts>, step: ReturnType<typeof decideOffers>]>([
    ['free slots', {}, { kind: 'take', count: 2 }],
    ['no limit', { capacity: { ...READY.capacity, maxJobs: 0 } }, { kind: 'take', count: 32 }],
    [
      'a limit above what is offered in one go',
      { capacity: { ...READY.capacity, maxJobs: 90 } },
      { kind: 'take', count: 32 },
    ],
    ['an empty queue', { isQueueEmpty: true }, { kind: 'stop' }],
    ['no free slot', { heldJobs: 3 }, { kind: 'say-waiting' }],
    ['more jobs than the limit, which was lowered', { heldJobs: 7 }, { kind: 'say-waiting' }],
    ['a rest', { isResting: true }, { kind: 'say-waiting' }],
    ['a runner that drains', { capacity: { ...READY.capacity, draining: true } }, { kind: 'say-waiting' }],
    ['a disabled runner', { capacity: { ...READY.capacity, enabled: false } }, { kind: 'fail-waiting' }],
    ['a connection that is gone', { isOpen: false, capacity: { ...READY.capacity, enabled: false } }, { kind: 'stop' }],
    ['a spool that is not known yet', { isStarted: false, heldJobs: 3 }, { kind: 'stop' }],
  ])('with %s', (_what, change, step) => {
    expect(decideOffers({ ...READY, ...change })).toEqual(step)
  })

  test('never takes more jobs than the limit allows, and none without an open connection', () => {
    const facts = fc.record({
      isOpen: fc.boolean(),
      isStarted: fc.boolean(),
      isResting: fc.boolean(),
      capacity: fc.record({ enabled: fc.boolean(), draining: fc.boolean(), maxJobs: fc.nat(50) }),
      heldJobs: fc.nat(60),
      isQueueEmpty: fc.boolean(),
    })
    fc.assert(
      fc.property(facts, (drawn) => {
        const step = decideOffers(drawn)
        if (step.kind !== 'take') return
        const { enabled, draining, maxJobs } = drawn.capacity
        expect([drawn.isOpen, drawn.isStarted, drawn.isResting, enabled, draining]).toEqual([
          true,
          true,
          false,
          true,
          false,
        ])
        expect(step.count).toBeGreaterThan(0)
        if (maxJobs > 0) expect(drawn.heldJobs + step.count).toBeLessThanOrEqual(maxJobs)
      }),
    )
  })
})

test.each([
  ['files_failed', 0, { kind: 'fail' }],
  ['files_changed', 5, { kind: 'requeue', rests: false }],
  ['files_changed', 6, { kind: 'fail' }],
  ['busy', 0, { kind: 'requeue', rests: true }],
  ['spool_full', 5, { kind: 'requeue', rests: true }],
] as const)('an offer refused as %s after %i changes of its files', (code, changes, step) => {
  expect(decideRefusal(code, changes)).toEqual(step)
})
