import { describe, expect, test } from 'vitest'
import { type WriteTransactions, createGroupCommit } from '../../../control-plane/src/store/engine/group-commit.js'

const BUSY = new Error('busy')
const LOST = new Error('lost')

/** A database whose answers to commits are given in their order; without one it commits. It notes what it is asked. */
function recorded(answers: readonly (Error | null)[], more: Partial<WriteTransactions<null>> = {}) {
  const asked: string[] = []
  const waiting = [...answers]
  const state = { time: 0, pauses: [] as number[] }
  const transactions: WriteTransactions<null> = {
    queries: null,
    begin: () => Promise.resolve(void asked.push('begin')),
    commit: () => {
      const answer = waiting.shift() ?? null
      asked.push(answer === null ? 'commit' : answer.message)
      return answer === null ? Promise.resolve() : Promise.reject(answer)
    },
    rollback: () => Promise.resolve(void asked.push('rollback')),
    isPassing: (error) => error === BUSY,
    ...more,
  }
  const deps = {
    timeoutMs: 1000,
    now: () => state.time,
    pause: (ms: number) => {
      state.pauses.push(ms)
      state.time += 100
      return Promise.resolve()
    },
  }
  return { asked, state, transactions, deps }
}

/** Writes that are given while another one runs: they become one group. */
async function group(names: readonly string[], { transactions, deps, asked }: ReturnType<typeof recorded>) {
  const commits = createGroupCommit(transactions, deps)
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  const first = commits.write('gate', () => gate)
  const writes = names.map((name) => commits.write(name, () => Promise.resolve(void asked.push(name))))
  open()
  await first
  const results = await Promise.allSettled(writes)
  return results.map((result) => (result.status === 'fulfilled' ? 'done' : String((result.reason as Error).message)))
}

describe('a group', () => {
  test('is taken back before its writes run again, each for itself', async () => {
    const database = recorded([null, new Error('a rule')], {
      asRefusal: (error) => new Error(`refused: ${String(error)}`),
    })
    expect(await group(['a', 'b'], database)).toEqual(['done', 'done'])
    expect(database.asked.slice(2).join(', ')).toBe('begin, a, b, a rule, rollback, begin, a, commit, begin, b, commit')
  })

  test('that lost against another process runs again twice as a whole, then write by write', async () => {
    const database = recorded([null, LOST, LOST, LOST], { isConflict: (error) => error === LOST })
    expect(await group(['a', 'b'], database)).toEqual(['done', 'done'])
    const words = database.asked.slice(2).filter((word) => !['begin', 'rollback'].includes(word))
    expect(words.join(', ')).toBe('a, b, lost, a, b, lost, a, b, lost, a, commit, b, commit')
    expect(database.state.pauses).toHaveLength(2)
    for (const pause of database.state.pauses) {
      expect(pause).toBeGreaterThanOrEqual(0)
      expect(pause).toBeLessThanOrEqual(20)
    }
  })

  test('has as many writes as are allowed, and the others are the next one', async () => {
    const database = recorded([])
    const more = { ...database, deps: { ...database.deps, mostInGroup: 2 } }
    await group(['a', 'b', 'c'], more)
    expect(database.asked).toEqual(['begin', 'commit', 'begin', 'a', 'b', 'commit', 'begin', 'c', 'commit'])
  })
})

describe('a write that waits for the database', () => {
  test('is refused at its time limit, not before, and nothing waits or begins for it any more', async () => {
    const database = recorded(Array<Error>(100).fill(BUSY))
    const commits = createGroupCommit(database.transactions, database.deps)
    await expect(commits.write('a', () => Promise.resolve())).rejects.toMatchObject({
      code: 'database_unavailable',
      message: 'the database is not available: busy',
    })
    // Tried at 0, 100 … 1000 milliseconds.
    expect(database.asked.filter((word) => word === 'begin')).toHaveLength(11)
    expect(database.state.pauses).toEqual(Array<number>(10).fill(100))
    expect(commits.trouble).toBe('busy')
  })

  test('is refused at its time limit when it always loses against others', async () => {
    const database = recorded(Array<Error>(100).fill(LOST), { isConflict: () => true })
    const commits = createGroupCommit(database.transactions, database.deps)
    await expect(commits.write('a', () => Promise.resolve())).rejects.toMatchObject({
      code: 'database_unavailable',
      message: 'the database is too busy: others write the same rows all the time',
    })
    expect(database.asked.filter((word) => word === 'begin')).toHaveLength(10)
  })

  test('waits while another one beside it is refused for its time', async () => {
    const database = recorded([BUSY, BUSY, BUSY])
    const commits = createGroupCommit(database.transactions, database.deps)
    const late = commits.write('old', () => Promise.resolve())
    // It comes when the other one has 100 milliseconds left.
    database.state.time = 900
    const early = commits.write('young', () => Promise.resolve('written'))
    await expect(late).rejects.toMatchObject({ code: 'database_unavailable' })
    await expect(early).resolves.toBe('written')
    expect(commits.trouble).toBeNull()
  })

  test('gets less time when less is allowed, never more', async () => {
    const database = recorded(Array<Error>(100).fill(BUSY))
    const commits = createGroupCommit(database.transactions, database.deps)
    commits.limitWaits(300)
    commits.limitWaits(5000)
    await expect(commits.write('a', () => Promise.resolve())).rejects.toMatchObject({ code: 'database_unavailable' })
    expect(database.state.time).toBe(300)
  })

  test('is refused at the next try after the end of the service', async () => {
    const database = recorded(Array<Error>(100).fill(BUSY))
    const commits = createGroupCommit(database.transactions, database.deps)
    const write = commits.write('a', () => Promise.resolve())
    const refused = expect(write).rejects.toMatchObject({ code: 'database_unavailable' })
    await commits.close()
    await refused
    expect(database.state.time).toBeLessThan(500)
  })
})

test('a write that fails for itself gets its own error, or the one that is said in its place', async () => {
  const broken = new Error('a rule')
  for (const [asRefusal, expected] of [
    [undefined, 'a rule'],
    [() => new Error('refused'), 'refused'],
  ] as const) {
    const { transactions, deps, asked } = recorded([], asRefusal ? { asRefusal } : {})
    const commits = createGroupCommit(transactions, deps)
    await expect(commits.write('a', () => Promise.reject(broken))).rejects.toThrow(expected)
    expect(asked).toEqual(['begin', 'rollback'])
  }
})
