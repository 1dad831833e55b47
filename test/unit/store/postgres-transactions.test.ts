import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { OutcomeUnknownError } from '../../../control-plane/src/store/engine/group-commit.js'
import { createConnections } from '../../../control-plane/src/store/postgres/postgres-connections.js'
import { isPassingPostgresError } from '../../../control-plane/src/store/postgres/postgres-errors.js'
import { createPostgresTransactions } from '../../../control-plane/src/store/postgres/postgres-transactions.js'

type Transactions = ReturnType<typeof createPostgresTransactions>

const lost = () => Object.assign(new Error('the connection was cut'), { code: 'ECONNRESET' })

/**
 * A pool whose connection is cut at each commit. Its other questions are answered in order: by an error, or by what became
 * of the mark. Its time only moves while somebody pauses.
 */
function cutOff(answers: readonly (Error | string)[], cutAt = /commit/) {
  const waiting = [...answers]
  const released: boolean[] = []
  const paused: number[] = []
  const client = {
    query: (text: string) => (cutAt.test(text) ? Promise.reject(lost()) : Promise.resolve({ rows: [] })),
    release: (isBroken: boolean) => released.push(isBroken),
  }
  const pool = {
    connect: () => Promise.resolve(client),
    query: () => {
      const answer = waiting.shift() ?? lost()
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve([{}, { rows: [{ state: answer }] }])
    },
  }
  const transactions = createPostgresTransactions(pool as unknown as pg.Pool, {
    newMark: () => 'mark',
    commitCheckMs: 1000,
    now: () => paused.reduce((sum, ms) => sum + ms, 0),
    pause: (ms) => {
      paused.push(ms)
      return Promise.resolve()
    },
  })
  const outcome = async () => {
    await transactions.begin()
    return transactions.commit().then(
      () => 'committed',
      (error: unknown) => (error instanceof OutcomeUnknownError ? 'unknown' : 'not committed'),
    )
  }
  return { transactions, outcome, released, paused, left: () => waiting.length }
}

describe('a commit whose answer is lost', () => {
  test('is asked about with pauses, as long as the server cannot answer', async () => {
    const { outcome, paused, released } = cutOff([lost(), lost(), 'committed'])
    expect(await outcome()).toBe('committed')
    expect(paused).toEqual([200, 200])
    expect(released).toEqual([true])
  })

  test('that was not done fails with its error', async () => {
    expect(await cutOff(['abandoned']).outcome()).toBe('not committed')
  })

  test('stays unknown when the time is over', async () => {
    const { outcome, paused } = cutOff([])
    expect(await outcome()).toBe('unknown')
    expect(paused).toHaveLength(6)
  })

  test('stays unknown after a permanent error', async () => {
    const { outcome, paused, left } = cutOff([new Error('no such table'), 'committed'])
    expect(await outcome()).toBe('unknown')
    expect([paused, left()]).toEqual([[], 1])
  })
})

test('every query has a time limit, except those of migrations', () => {
  const limitOf = (use: 'read' | 'write' | 'migrate') =>
    createConnections({ host: '127.0.0.1' }, use, 1).options.query_timeout
  expect(limitOf('read')).toBeGreaterThan(0)
  expect(limitOf('write')).toBeGreaterThan(0)
  expect(limitOf('migrate')).toBeUndefined()
})

test.each([
  ['begins', /^begin/, (one: Transactions) => one.begin()],
  ['is taken back', /^rollback/, (one: Transactions) => one.begin().then(() => one.rollback())],
])('a connection that is cut when a transaction %s is not used again', async (_, at, use) => {
  const { transactions, released } = cutOff([], at)
  await use(transactions).catch(() => undefined)
  expect(released).toEqual([true])
})

test('a connection whose transaction was taken back is used again', async () => {
  const { transactions, released } = cutOff([])
  await transactions.begin()
  await transactions.rollback()
  // Nothing is left to take back.
  await transactions.rollback()
  expect(released).toEqual([false])
})

describe('an error of several attempts to connect', () => {
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  const other = new Error('the password is wrong')

  test('passes when every attempt may succeed later', () => {
    expect(isPassingPostgresError(new AggregateError([refused, refused]))).toBe(true)
    expect(isPassingPostgresError(new AggregateError([refused, other]))).toBe(false)
  })

  test('that names no attempt is judged by itself', () => {
    expect(isPassingPostgresError(new AggregateError([], 'nobody knows'))).toBe(false)
    expect(isPassingPostgresError(Object.assign(new AggregateError([]), { code: 'ETIMEDOUT' }))).toBe(true)
  })
})

describe('a transaction', () => {
  /** A pool whose statements succeed, but for those that fail as the test says. */
  function recorded(failing: Readonly<Record<string, Error>> = {}) {
    const asked: string[] = []
    const released: boolean[] = []
    const client = {
      query: (text: string) => {
        asked.push(text)
        const failure = Object.entries(failing).find(([word]) => text.includes(word))?.[1]
        return failure ? Promise.reject(failure) : Promise.resolve({ rows: [] })
      },
      release: (isBroken: boolean) => released.push(isBroken),
    }
    const pool = {
      connect: () => Promise.resolve(client),
      query: (text: string) => {
        asked.push(text)
        return Promise.resolve([{}, { rows: [{ state: 'committed' }] }])
      },
    }
    const transactions = createPostgresTransactions(pool as unknown as pg.Pool, {
      newMark: () => 'mark 1',
      commitCheckMs: 1000,
      now: () => 0,
      pause: () => Promise.resolve(),
    })
    return { transactions, asked, released }
  }

  test('is serializable, leaves its mark with its commit, and its connection is used again', async () => {
    const { transactions, asked, released } = recorded()
    await transactions.begin()
    await transactions.commit()
    expect(asked).toEqual([
      'begin isolation level serializable',
      `insert into write_mark (id, state) values ('mark 1', 'committed'); commit`,
    ])
    expect(released).toEqual([false])
    await expect(transactions.queries.selectFrom('job').select('id').execute()).rejects.toThrow('after its transaction')
  })

  test('whose commit the server refuses was not done: nobody asks about it, and it can be taken back', async () => {
    const refusal = Object.assign(new pg.DatabaseError('no', 2, 'error'), { code: '40001', severity: 'ERROR' })
    const { transactions, asked, released } = recorded({ commit: refusal })
    await transactions.begin()
    await expect(transactions.commit()).rejects.toBe(refusal)
    expect([asked.length, released]).toEqual([2, []])
    await transactions.rollback()
    expect([asked.at(-1), released]).toEqual(['rollback', [false]])
  })
})

test('a commit is asked about again when the question itself lost against another one', async () => {
  const conflict = Object.assign(new pg.DatabaseError('no', 2, 'error'), { code: '40001', severity: 'ERROR' })
  const { outcome, paused } = cutOff([conflict, 'committed'])
  expect(await outcome()).toBe('committed')
  expect(paused).toEqual([200])
})
