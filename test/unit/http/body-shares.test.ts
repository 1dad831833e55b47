import { expect, test } from 'vitest'
import { createBodyShares } from '../../../control-plane/src/http/server/body-shares.js'

/**
 * Requests of senders that may have 10 bytes in work each, and 15 together. `a1+6` takes 6 bytes for the first request of
 * a, `a1-` closes it. @returns the codes of what was refused
 */
function refused(steps: string): string[] {
  const shares = createBodyShares({ ofOne: 10, ofAll: 15 })
  const open = new Map<string, ReturnType<typeof shares.open>>()
  return steps.split(' ').flatMap((step) => {
    const [, name = '', bytes] = /^(\w+)(?:\+(\d+)|-)$/.exec(step) ?? []
    const share = open.get(name) ?? shares.open(name.slice(0, 1))
    open.set(name, share)
    try {
      if (bytes === undefined) share.close()
      else share.take(Number(bytes))
      return []
    } catch (error) {
      return [`${step} ${(error as { code: string }).code}`]
    }
  })
}

test.each([
  ['a sender has a share over all its requests', 'a1+4 a1+2 a2+4 a2+1', ['a2+1 too_much_in_work']],
  ['all senders together have one', 'a1+8 b1+6 c1+1 c1+1 d1+1', ['c1+1 bodies_full', 'd1+1 bodies_full']],
  ['what is answered is free again', 'a1+6 a2+4 a1- a2+7 a2+6 b1+5', ['a2+7 too_much_in_work']],
  ['and free for all', 'a1+9 b1+6 a1- c1+9 d1+1', ['d1+1 bodies_full']],
  ['closing twice frees once', 'a1+5 a2+5 a1- a1- a2+6', ['a2+6 too_much_in_work']],
  ['what was refused does not count', 'a1+11 a1+10 b1+6 b1+5', ['a1+11 too_much_in_work', 'b1+6 bodies_full']],
])('bodies in work: %s', (_, steps, codes) => {
  expect(refused(steps)).toEqual(codes)
})
