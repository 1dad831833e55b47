import { expect, test } from 'vitest'
import { playFailOvers } from './fail-overs/fail-overs.js'

/**
 * An asynchronous standby of the database takes over without the last commits, again and again. What the database
 * forgets, the runner still has. `scripts/chaos --fail-overs` plays more of them, further behind.
 */
test('fail-overs to a standby that is behind lose nothing and double nothing', { timeout: 600_000 }, async () => {
  const said: string[] = []
  const options = { count: 5, seed: 1, behind: 2, keep: false }
  const { isExact, line } = await playFailOvers(options, new AbortController().signal, (text) => void said.push(text))
  // A commit that is missing is noticed, and said.
  expect(line).toMatch(/^5 fail-overs \([1-5] in the audit trail\)/)
  expect({ isExact, said: isExact ? [] : [...said, line] }).toEqual({ isExact: true, said: [] })
})
