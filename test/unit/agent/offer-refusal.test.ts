import { expect, test } from 'vitest'
import { effectiveMaxJobs, type OfferFacts, refusalOf } from '../../../runner-agent/src/jobs/offer-refusal.js'

const FREE: OfferFacts = {
  problem: null,
  hostProblem: null,
  draining: false,
  maxJobs: 3,
  slotsTaken: 0,
  spooledJobs: 0,
  spoolBytes: 0,
  spoolMaxBytes: 1000,
}
const FULL_DISK = { code: 'spool_full', message: 'the disk is full' } as const

test.each<[string, Partial<OfferFacts>, string | null]>([
  ['with one free slot', { slotsTaken: 2 }, null],
  ['whose slots are all taken', { slotsTaken: 3 }, 'busy'],
  ['with more jobs than a new limit', { slotsTaken: 4 }, 'busy'],
  ['without a limit', { maxJobs: 0, slotsTaken: 500 }, null],
  ['whose spool is just full', { spoolBytes: 1000 }, null],
  ['whose spool has a byte too many', { spoolBytes: 1001 }, 'spool_full'],
  ['with very many jobs in its spool', { spooledJobs: 1e6 }, 'spool_full'],
  ['that drains', { draining: true, slotsTaken: 3 }, 'draining'],
  ['that waits for a person', { problem: 'no Python', hostProblem: FULL_DISK }, 'draining'],
  ['whose host has a problem', { hostProblem: FULL_DISK, draining: true }, 'spool_full'],
])('a job that is offered to a runner %s is taken or refused', (_, change, code) => {
  expect(refusalOf({ ...FREE, ...change })?.code ?? null).toBe(code)
})

test.each([
  [5, 0, 5],
  [0, 0, 0],
  [0, 4, 4],
  [3, 4, 3],
  [5, 4, 4],
])('a limit of %i with at most %i jobs means %i', (limit, most, expected) => {
  expect(effectiveMaxJobs(limit, most)).toBe(expected)
})
