import { expect, test } from 'vitest'
import { UnavailableError } from '../../../control-plane/src/errors.js'
import { OutcomeUnknownError, createGroupCommit } from '../../../control-plane/src/store/engine/group-commit.js'

const BUSY = new Error('busy')
const LOST = new Error('lost')
const UNKNOWN = new OutcomeUnknownError('cut')

/** Four writes at once into a database that gives these answers to commits, in their order, and then commits. */
async function fourWrites(answers: readonly Error[], timeoutMs = 1000) {
  const waiting = [...answers]
  const committed: string[] = []
  let open: string[] = []
  let time = 0
  const transactions = {
    queries: { put: (value: string) => void open.push(value) },
    begin: () => Promise.resolve(void (open = [])),
    commit: () => {
      const answer = waiting.shift()
      if (answer) return Promise.reject(answer)
      committed.push(open.join(''))
      return Promise.resolve()
    },
    rollback: () => Promise.resolve(),
    isPassing: (error: unknown) => error === BUSY,
    isConflict: (error: unknown) => error === LOST,
  }
  const pause = () => Promise.resolve(void (time += 100))
  const commits = createGroupCommit(transactions, { timeoutMs, pause, now: () => time })
  const write = (value: string) =>
    commits.write(value, (queries) => {
      queries.put(value)
      return value === 'x' ? Promise.reject(new Error('a rule')) : Promise.resolve(value)
    })
  const ends = await Promise.allSettled(['a', 'b', 'x', 'c'].map(write))
  const refusals = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as Error] : []))
  return { commits, committed, refusals, write }
}

// The first write is a group of its own, because the writer is free when it comes.
test.each<[string, Error[], string[]]>([
  ['in groups, and one that fails by itself costs the others nothing', [], ['a', 'b', 'c']],
  ['once, however long the database is locked', Array<Error>(9).fill(BUSY), ['a', 'b', 'c']],
  ['once, however often they lose against another process', Array<Error>(9).fill(LOST), ['a', 'b', 'c']],
])('writes are committed %s', async (_what, answers, groups) => {
  const { committed, refusals } = await fourWrites(answers)
  expect([committed, refusals.map(({ message }) => message)]).toEqual([groups, ['a rule']])
})

test('a write is refused when its time is over, and when nobody knows whether it was committed', async () => {
  const late = await fourWrites(Array<Error>(1000).fill(BUSY), 300)
  expect([late.committed, late.refusals.filter((one) => one instanceof UnavailableError)]).toEqual([
    [],
    expect.objectContaining({ length: 3 }),
  ])
  const { committed, refusals, commits, write } = await fourWrites([UNKNOWN])
  // It is not run again, because it may be there.
  expect([committed, refusals]).toMatchObject([
    ['b', 'c'],
    [{ code: 'database_answer_lost' }, { message: 'a rule' }],
  ])
  await commits.close()
  await expect(write('late')).rejects.toMatchObject({ code: 'stopping' })
})

test('a write that comes just when the one before ends is not forgotten', async () => {
  const { write, committed } = await fourWrites([])
  for (let ticks = 0; ticks < 20; ticks += 1) {
    await write('y')
    for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve()
    await write('z')
  }
  expect(committed.slice(3).join('')).toBe('yz'.repeat(20))
})
