import { describe, expect, test } from 'vitest'
import { chosenSeed, createChance, seeded } from './seed.js'

describe('the seed', () => {
  test('draws the same for the same number, and something else for another', () => {
    const draw = (seed: number) => Array.from({ length: 5 }, createChance(seed).next)
    expect(draw(7)).toEqual(draw(7))
    expect(draw(7)).not.toEqual(draw(8))
  })

  test('comes from CHAOS_SEED', () => {
    expect(chosenSeed({})).toBe(1)
    expect(chosenSeed({ CHAOS_SEED: '42' })).toBe(42)
    expect(() => chosenSeed({ CHAOS_SEED: 'x' })).toThrow('CHAOS_SEED')
  })

  test('is in the message of a failing test, with the command that runs it again', async () => {
    const failing = seeded('test/chaos/kit/seed.test.ts', 'a name', () => Promise.reject(new Error('broken')))
    await expect(failing()).rejects.toThrow(
      /broken[^]*CHAOS_SEED=\d+ .\/scripts\/test test\/chaos\/kit\/seed.test.ts -t 'a name'/,
    )
  })
})
