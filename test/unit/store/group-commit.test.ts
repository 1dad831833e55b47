import { describe, expect, test } from 'vitest'
import { UnavailableError } from '../../../control-plane/src/errors.js'
import { OutcomeUnknownError, createGroupCommit } from '../../../control-plane/src/store/engine/group-commit.js'

/** A database that records what is committed and fails where it is told to. */
function fakeTransactions() {
  const committed: string[][] = []
  let open: string[] = []
  const state = { busyFor: 0, commits: 0 }
  return {
    committed,
    state,
    transactions: {
      queries: { put: (value: string) => open.push(value) },
      begin: () => {
        if (state.busyFor > 0) {
          state.busyFor -= 1
          return Promise.reject(new Error('busy'))
        }
        open = []
        return Promise.resolve()
      },
      commit: () => {
        state.commits += 1
        committed.push(open)
        return Promise.resolve()
      },
      rollback: () => {
        open = []
        return Promise.resolve()
      },
      isPassing: (error: unknown) => error instanceof Error && error.message === 'busy',
    },
  }
}

const clock = { timeoutMs: 1000, pause: () => Promise.resolve(), now: () => 0 }

describe('group commit', () => {
  test('waiting writes share a commit, in their order', async () => {
    const { transactions, committed } = fakeTransactions()
    const commits = createGroupCommit(transactions, clock)
    const results = await Promise.all(
      ['a', 'b', 'c', 'd'].map((value) =>
        commits.write(value, (queries) => {
          queries.put(value)
          return Promise.resolve(value.toUpperCase())
        }),
      ),
    )
    expect(results).toEqual(['A', 'B', 'C', 'D'])
    expect(committed.flat()).toEqual(['a', 'b', 'c', 'd'])
    expect(committed.length).toBeLessThan(4)
  })

  test('a failing write is refused alone; the others of its group are committed once', async () => {
    const { transactions, committed } = fakeTransactions()
    const commits = createGroupCommit(transactions, clock)
    const write = (value: string) =>
      commits.write(value, (queries) => {
        queries.put(value)
        return value === 'bad' ? Promise.reject(new Error('bad write')) : Promise.resolve(value)
      })
    const results = await Promise.allSettled(['first', 'one', 'bad', 'two'].map(write))
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect(committed.flat().sort()).toEqual(['first', 'one', 'two'])
  })

  test('a locked database drops nothing: the write waits and is committed', async () => {
    const { transactions, committed, state } = fakeTransactions()
    state.busyFor = 5
    let pauses = 0
    const pause = () => Promise.resolve(void (pauses += 1))
    const commits = createGroupCommit(transactions, { ...clock, pause })
    await commits.write('a', (queries) => Promise.resolve(queries.put('a')))
    expect(committed.flat()).toEqual(['a'])
    // It is left in peace between two tries.
    expect(pauses).toBe(5)
  })

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'a write %i microtasks after a commit is not forgotten',
    async (microtasks) => {
      const { transactions, committed } = fakeTransactions()
      const commits = createGroupCommit(transactions, clock)
      await commits.write('a', (queries) => Promise.resolve(queries.put('a')))
      for (let count = 0; count < microtasks; count += 1) await Promise.resolve()
      await commits.write('b', (queries) => Promise.resolve(queries.put('b')))
      expect(committed.flat()).toEqual(['a', 'b'])
    },
  )

  test('after its time limit a write is refused, and the error says so', async () => {
    const { transactions, state } = fakeTransactions()
    state.busyFor = 1_000_000
    let time = 0
    const commits = createGroupCommit(transactions, { ...clock, now: () => (time += 300) })
    await expect(commits.write('a', () => Promise.resolve(1))).rejects.toBeInstanceOf(UnavailableError)
  })

  test('after close nothing is written any more', async () => {
    const { transactions, committed } = fakeTransactions()
    const commits = createGroupCommit(transactions, clock)
    const before = commits.write('a', (queries) => Promise.resolve(queries.put('a')))
    await commits.close()
    await before
    await expect(commits.write('b', () => Promise.resolve(1))).rejects.toBeInstanceOf(UnavailableError)
    expect(committed.flat()).toEqual(['a'])
  })
})

describe('a group that loses against another process', () => {
  const lost = new Error('lost')
  const isConflict = (error: unknown, tries: number) => error === lost && tries < 6

  test('runs again as a whole, then write by write, and each write is done once', async () => {
    const { transactions, committed, state } = fakeTransactions()
    let losses = 3
    const commit = () => (losses-- > 0 ? Promise.reject(lost) : transactions.commit())
    const commits = createGroupCommit({ ...transactions, commit, isConflict }, clock)
    const first = commits.write('0', () => Promise.resolve())
    await Promise.all(['a', 'b', 'c'].map((value) => commits.write(value, (q) => Promise.resolve(q.put(value)))))
    await first
    expect(committed.flat()).toEqual(['a', 'b', 'c'])
    expect(state.commits).toBe(2)
    losses = 4
    const both = ['d', 'e', 'f'].map((value) => commits.write(value, (q) => Promise.resolve(q.put(value))))
    await Promise.all(both)
    expect(committed.flat()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  test('is refused with its own error if that stays, and as unavailable if it takes too long', async () => {
    const { transactions } = fakeTransactions()
    const commits = createGroupCommit({ ...transactions, isConflict }, clock)
    await expect(commits.write('x', () => Promise.reject(lost))).rejects.toBe(lost)
    let time = 0
    const impatient = createGroupCommit(
      { ...transactions, isConflict: () => true },
      { ...clock, now: () => (time += 300) },
    )
    await expect(impatient.write('x', () => Promise.reject(lost))).rejects.toThrow(UnavailableError)
  })

  test('is never run again if it may have been committed', async () => {
    const { transactions } = fakeTransactions()
    const commit = () => Promise.reject(new OutcomeUnknownError('cut'))
    const commits = createGroupCommit({ ...transactions, commit }, clock)
    let runs = 0
    const write = () => commits.write('x', () => Promise.resolve((runs += 1)))
    const results = await Promise.allSettled([write(), write(), write()])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(results.every((one) => one.status === 'rejected' && one.reason instanceof UnavailableError)).toBe(true)
    expect([runs, commits.trouble]).toEqual([3, 'cut'])
  })
})
