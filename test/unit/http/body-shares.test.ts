import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { createBodyShares } from '../../../control-plane/src/http/server/body-shares.js'

const TOO_MUCH_OF_ONE = { code: 'too_much_in_work', retryAfterSeconds: 2 }
const TOO_MUCH_OF_ALL = { code: 'bodies_full' }

function refusalOf(work: () => void): unknown {
  try {
    work()
    return null
  } catch (error) {
    return error
  }
}

test('a sender may have just as many bytes in work as are allowed, over all its requests', () => {
  const shares = createBodyShares({ ofOne: 10, ofAll: 100 })
  const [one, other] = [shares.open('ann'), shares.open('ann')]
  one.take(4)
  one.take(2)
  other.take(4)
  expect(refusalOf(() => other.take(1))).toMatchObject(TOO_MUCH_OF_ONE)
  expect(refusalOf(() => one.take(1))).toMatchObject(TOO_MUCH_OF_ONE)
  // Another sender has its own.
  expect(refusalOf(() => shares.open('ben').take(10))).toBeNull()
  expect(refusalOf(() => shares.open('ben').take(1))).toMatchObject(TOO_MUCH_OF_ONE)
})

test('all senders together may have just as many bytes in work as are allowed', () => {
  const shares = createBodyShares({ ofOne: 10, ofAll: 15 })
  shares.open('ann').take(8)
  shares.open('ben').take(6)
  const cy = shares.open('cy')
  cy.take(1)
  expect(refusalOf(() => cy.take(1))).toMatchObject(TOO_MUCH_OF_ALL)
  expect(refusalOf(() => shares.open('dan').take(1))).toMatchObject(TOO_MUCH_OF_ALL)
})

test('the bytes of an answered request are free again, and those of the other requests of its sender are not', () => {
  const shares = createBodyShares({ ofOne: 10, ofAll: 20 })
  const [one, other] = [shares.open('ann'), shares.open('ann')]
  one.take(6)
  other.take(4)
  one.close()
  expect(refusalOf(() => other.take(7))).toMatchObject(TOO_MUCH_OF_ONE)
  expect(refusalOf(() => other.take(6))).toBeNull()
  other.close()
  shares.open('ben').take(10)
  // All that ann had is free: nothing of it counts for her, or for all.
  expect(refusalOf(() => shares.open('ann').take(10))).toBeNull()
  expect(refusalOf(() => shares.open('cy').take(1))).toMatchObject(TOO_MUCH_OF_ALL)
})

test('a request that is closed twice frees its bytes once', () => {
  const shares = createBodyShares({ ofOne: 10, ofAll: 12 })
  const [one, other] = [shares.open('ann'), shares.open('ann')]
  one.take(5)
  other.take(5)
  one.close()
  one.close()
  expect(refusalOf(() => other.take(6))).toMatchObject(TOO_MUCH_OF_ONE)
  shares.open('ben').take(7)
  expect(refusalOf(() => shares.open('cy').take(1))).toMatchObject(TOO_MUCH_OF_ALL)
})

test('what was refused does not count', () => {
  const shares = createBodyShares({ ofOne: 10, ofAll: 12 })
  const share = shares.open('ann')
  expect(refusalOf(() => share.take(11))).toMatchObject(TOO_MUCH_OF_ONE)
  expect(refusalOf(() => share.take(10))).toBeNull()
  expect(refusalOf(() => shares.open('ben').take(3))).toMatchObject(TOO_MUCH_OF_ALL)
  expect(refusalOf(() => shares.open('ben').take(2))).toBeNull()
})

test('a sender whose requests are all answered leaves nothing in memory', () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const heldBytes = () => {
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const shares = createBodyShares({ ofOne: 10, ofAll: 100 })
  const before = heldBytes()
  for (let sender = 0; sender < 20_000; sender += 1) {
    const share = shares.open(Buffer.alloc(5000, `${sender} `).toString('latin1'))
    share.take(1)
    share.close()
  }
  // The names of the senders have 100 MB together.
  expect(heldBytes() - before).toBeLessThan(20_000_000)
  shares.open('ann').take(10)
})
