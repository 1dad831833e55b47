import type pg from 'pg'
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
