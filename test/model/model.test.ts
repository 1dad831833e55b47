import { describe, expect, test } from 'vitest'
import { explore } from './explore.js'
import type { OldFault } from './world.js'

/** Faults and wishes in one life of a job, in any order: three take half a minute, four most of an hour. */
const FAULTS = Number(process.env.MODEL_FAULTS ?? 2)

describe('the life of one job, in every order of faults and wishes', () => {
  test('no rule breaks, and the job ends when nothing fails any more', () => {
    const { worlds, counterExample } = explore(FAULTS)
    expect(counterExample).toBeNull()
    expect(worlds).toBeGreaterThan(10_000)
  })

  test.each<[OldFault, string]>([
    ['concludes from a failed read', 'shown as failed, and nothing had failed'],
    ['knows jobs by the row of their runner', 'the end says aborted, and nobody had asked for it'],
    ['ends what is not in its place for a moment', 'a playbook was ended and nobody had asked for it'],
    ['judges an absent spool', 'shown as failed, and nothing had failed'],
    ['keeps a wait as a clock', 'shown as failed, and nothing had failed'],
    ['forgets how it ended', 'the end says that the supervisor was lost, and it was not'],
  ])('a product that %s is found out', (old, rule) => {
    expect(explore(2, new Set([old])).counterExample?.rule).toBe(rule)
  })
})
