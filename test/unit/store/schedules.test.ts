import { beforeEach, describe, expect, test } from 'vitest'
import {
  type NewCredential,
  deleteCredential,
  findCredential,
  findCredentialByName,
  insertCredential,
  listCredentials,
  replaceCredential,
} from '../../../control-plane/src/store/service/credentials.js'
import {
  type ScheduleWish,
  changeSchedule,
  countSchedules,
  deleteSchedule,
  endScheduleTurn,
  findSchedule,
  insertSchedule,
  listDueSchedules,
  listSchedules,
} from '../../../control-plane/src/store/service/schedules.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { memoryDatabase } from '../../support/memory-database.js'

let queries: Queries

beforeEach(async () => {
  queries = await memoryDatabase()
})

const WISH: ScheduleWish = {
  name: 'nightly',
  form: 'f',
  cron: '0 1 * * *',
  timeZone: 'UTC',
  onceAt: null,
  missed: 'run',
  isPaused: false,
  values: { host: 'web' },
  credentials: { key: 'ssh' },
  isVerbose: false,
}
const put = (nextAt: number | null = 50, wish: Partial<ScheduleWish> = {}, owner = 1) =>
  insertSchedule(queries, { ...WISH, ...wish }, { id: owner, name: 'ann', type: 'local' }, { nextAt, createdAt: 5 })

describe('a schedule', () => {
  test.each([{}, { isPaused: true }, { isVerbose: true }, { missed: 'skip' as const }])(
    'is stored as it is wished: %j',
    async (wish) => {
      const { id } = await put(50, wish)
      expect(await findSchedule(queries, id)).toEqual({
        id,
        ...WISH,
        ...wish,
        owner: { id: 1, name: 'ann', type: 'local' },
        turn: 1,
        nextAt: 50,
        lastAt: null,
        lastJobId: null,
        lastProblem: null,
        createdAt: 5,
      })
      expect(await findSchedule(queries, 99)).toBeNull()
    },
  )

  test('is of one account, or of all', async () => {
    const ids = [(await put()).id, (await put(50, {}, 2)).id, (await put()).id]
    const of = async (owner: number | null) => (await listSchedules(queries, owner)).map(({ id }) => id)
    expect([await of(null), await of(1), await of(3)]).toEqual([ids, [ids[0], ids[2]], []])
    expect([await countSchedules(queries, 1), await countSchedules(queries, 3)]).toEqual([2, 0])
    expect([await deleteSchedule(queries, ids[0] ?? 0), await deleteSchedule(queries, ids[0] ?? 0)]).toEqual([
      true,
      false,
    ])
    expect(await of(null)).toEqual(ids.slice(1))
  })

  test('is due from its moment on, the longest waiting one first, page by page', async () => {
    const [late, early, same] = [await put(51), await put(50), await put(50)]
    await put(52)
    await put(null)
    await put(1, { isPaused: true })
    const due = async (limit: number, after: { id: number; nextAt: number | null } | null) =>
      (await listDueSchedules(queries, 51, { limit, after })).map(({ id }) => id)
    expect(await due(10, null)).toEqual([early.id, same.id, late.id])
    expect(await due(1, null)).toEqual([early.id])
    expect(await due(10, early)).toEqual([same.id, late.id])
    expect(await due(10, same)).toEqual([late.id])
    expect(await due(10, late)).toEqual([])
  })

  test('changes only as it was read', async () => {
    const read = await put()
    await put()
    expect(await changeSchedule(queries, read, { ...WISH, name: 'weekly', isPaused: true }, 70)).toMatchObject({
      name: 'weekly',
      isPaused: true,
      nextAt: 70,
      turn: 2,
    })
    expect(await changeSchedule(queries, read, WISH, 80)).toBeNull()
    expect(await endScheduleTurn(queries, read, { at: 50, nextAt: 90, outcome: { jobId: 3 } })).toBe(false)
    expect(await findSchedule(queries, read.id + 1)).toMatchObject({ name: 'nightly', nextAt: 50, turn: 1 })
  })

  test('ends each turn once, with its job or the reason why there is none', async () => {
    const read = await put()
    const failed = { at: 50, nextAt: 60, outcome: { problem: 'the form is gone' } }
    expect([await endScheduleTurn(queries, read, failed), await endScheduleTurn(queries, read, failed)]).toEqual([
      true,
      false,
    ])
    const second = await findSchedule(queries, read.id)
    expect(second).toMatchObject({ lastAt: 50, nextAt: 60, lastJobId: null, lastProblem: 'the form is gone', turn: 2 })
    await endScheduleTurn(queries, { id: read.id, turn: 2 }, { at: 60, nextAt: 70, outcome: { jobId: 8 } })
    expect(await findSchedule(queries, read.id)).toMatchObject({ lastJobId: 8, lastProblem: null, turn: 3 })
    await endScheduleTurn(queries, { id: read.id, turn: 3 }, { at: 70, nextAt: null, outcome: { problem: 'no' } })
    expect(await findSchedule(queries, read.id)).toMatchObject({ lastJobId: 8, lastProblem: 'no', nextAt: null })
  })
})

describe('a credential', () => {
  const SSH: NewCredential = {
    name: 'ssh',
    type: 'ssh',
    user: 'root',
    host: null,
    port: null,
    description: '',
    options: { strict: true },
    secret: Buffer.from('sealed'),
    createdAt: 5,
    updatedAt: 6,
  }

  test('has a name of its own', async () => {
    const stored = await insertCredential(queries, SSH)
    expect(stored).toEqual({ id: stored?.id, ...SSH })
    expect(await insertCredential(queries, SSH)).toBeNull()
    const other = await insertCredential(queries, { ...SSH, name: 'api' })
    expect((await listCredentials(queries)).map(({ name }) => name)).toEqual(['api', 'ssh'])
    expect((await findCredential(queries, other?.id ?? 0))?.name).toBe('api')
    expect([await findCredential(queries, 99), await findCredentialByName(queries, 'other')]).toEqual([null, null])
    const id = stored?.id ?? 0
    expect([await deleteCredential(queries, id), await deleteCredential(queries, id)]).toEqual([true, false])
  })

  test('is replaced only as it was read, and not by the name of another one', async () => {
    const before = await insertCredential(queries, SSH)
    const other = await insertCredential(queries, { ...SSH, name: 'api' })
    if (!before || !other) throw new Error('they are not stored')
    const renamed = { ...SSH, name: 'new', secret: Buffer.from('again'), updatedAt: 9 }
    expect(await replaceCredential(queries, before, { ...SSH, name: 'api' })).toBeNull()
    expect(await replaceCredential(queries, { ...before, secret: Buffer.from('older') }, renamed)).toBeNull()
    expect(await replaceCredential(queries, { ...before, id: 99 }, renamed)).toBeNull()
    // Its own name may stay.
    expect(await replaceCredential(queries, before, { ...SSH, description: 'x' })).toMatchObject({ description: 'x' })
    expect(await replaceCredential(queries, before, renamed)).toEqual({ id: before.id, ...renamed })
    expect(await findCredential(queries, other.id)).toEqual(other)
  })
})
