import type { Insertable } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { findFence } from '../../../control-plane/src/store/runners/fencing.js'
import {
  consumeJoinToken,
  deleteJoinToken,
  deleteJoinTokensBefore,
  hasJoinToken,
  insertJoinToken,
  isJoinTokenGood,
  listJoinTokens,
} from '../../../control-plane/src/store/runners/join-tokens.js'
import {
  deleteRunnerAddress,
  hasRunnerAddress,
  insertRunnerAddress,
  listRunnerAddresses,
  noteAddressProblem,
  takeRunnerAddress,
} from '../../../control-plane/src/store/runners/runner-addresses.js'
import {
  clearConnectedNode,
  clearDefaultRunner,
  countUnfinishedJobs,
  deleteLeftRequests,
  deleteRunner,
  findApprovedAddresses,
  findConnectedNodes,
  findDefaultRunner,
  findDeniedRequest,
  findRunner,
  findRunnerByName,
  findRunnersOfNode,
  hasApprovedRunner,
  insertRunner,
  listWaitingRunners,
  takeAcceptedCopy,
  trimDenied,
  updateRunner,
} from '../../../control-plane/src/store/runners/runners.js'
import {
  deleteServiceKeys,
  insertServiceKey,
  listServiceKeys,
  retireServiceKey,
} from '../../../control-plane/src/store/runners/service-keys.js'
import type { RunnerTable } from '../../../control-plane/src/store/schema/runners.js'
import { listWatchedConnections, markLost } from '../../../control-plane/src/store/service/notification-events.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { DISPATCHES } from '../../../control-plane/src/words/job-dispatch.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { RUNNER_ROW } from '../../support/runner-row.js'

let queries: Queries

beforeEach(async () => {
  queries = await memoryDatabase()
})

let runners = 0
const put = async (row: Partial<Insertable<RunnerTable>> = {}) => {
  runners += 1
  return (await insertRunner(queries, { ...RUNNER_ROW, name: `runner ${runners}`, fingerprint: `f${runners}`, ...row }))
    .id
}

describe('a runner', () => {
  test('is shown with its marks', async () => {
    const id = await put({ name: 'marked', enabled: 0, is_default: 1, draining: 1, state: 'revoked' })
    expect(await findRunner(queries, id)).toMatchObject({ enabled: false, isDefault: true, draining: true })
    const plain = await put({})
    expect(await findRunner(queries, plain)).toMatchObject({ enabled: true, isDefault: false, draining: false })
    expect(await findRunner(queries, 99)).toBeNull()
  })

  test('has its name alone, but denied requests may have it, too', async () => {
    const denied = await put({ name: 'one', state: 'denied', last_seen: 5 })
    expect(await findRunnerByName(queries, 'one')).toBeNull()
    const waiting = await put({ name: 'one', state: 'waiting' })
    const newest = await put({ name: 'one', state: 'denied', last_seen: 6 })
    const same = await put({ name: 'one', state: 'denied', last_seen: 6 })
    expect((await findRunnerByName(queries, 'one'))?.id).toBe(waiting)
    expect((await findDeniedRequest(queries, 'one'))?.id).toBe(same)
    expect(await findDeniedRequest(queries, 'other')).toBeNull()
    await trimDenied(queries, 2)
    expect([await findRunner(queries, denied), (await findRunner(queries, newest))?.id]).toEqual([null, newest])
    expect((await findRunner(queries, waiting))?.id).toBe(waiting)
  })

  test('changes only from the state in which it was read', async () => {
    const id = await put({ state: 'waiting' })
    expect(await updateRunner(queries, id, 'approved', { state: 'revoked' })).toBeNull()
    expect(await updateRunner(queries, id, 'waiting', { state: 'approved' })).toMatchObject({ id, state: 'approved' })
    expect(await updateRunner(queries, id, 'waiting', { state: 'denied' })).toBeNull()
  })

  test('is the default one only while it is approved, and one at a time', async () => {
    const id = await put({ is_default: 1, state: 'revoked' })
    const other = await put()
    expect(await findDefaultRunner(queries)).toBeNull()
    await updateRunner(queries, id, 'revoked', { state: 'approved' })
    expect((await findDefaultRunner(queries))?.id).toBe(id)
    await clearDefaultRunner(queries)
    expect(await findDefaultRunner(queries)).toBeNull()
    await deleteRunner(queries, other)
    expect([await findRunner(queries, other), (await findRunner(queries, id))?.id]).toEqual([null, id])
  })

  test('is known by its connection: an older one is refused', async () => {
    const id = await put({ epoch: 3 })
    const revoked = await put({ state: 'revoked', epoch: 3 })
    expect([await findFence(queries, id, 3), await findFence(queries, id, 2)]).toEqual([null, 'taken_over'])
    expect([await findFence(queries, revoked, 3), await findFence(queries, 99, 3)]).toEqual(['revoked', 'removed'])
  })

  test('has an accepted older copy once', async () => {
    const [id, other] = [await put({ copy_accepted_by: 'ann' }), await put({ copy_accepted_by: 'bob' })]
    expect([await takeAcceptedCopy(queries, id), await takeAcceptedCopy(queries, id)]).toEqual(['ann', null])
    expect(await takeAcceptedCopy(queries, 99)).toBeNull()
    expect(await takeAcceptedCopy(queries, other)).toBe('bob')
  })

  test.each(DISPATCHES)('has unfinished jobs on their way: %s', async (dispatch) => {
    const counted = ['queued', 'offered', 'claimed'].includes(dispatch)
    for (const [index, status] of (['running', 'approve', 'success', 'abandoned'] as const).entries()) {
      await insertJob(queries, { ...queuedJob(7, String(index).repeat(32)), dispatch, status })
    }
    expect(await countUnfinishedJobs(queries, 7)).toBe(counted ? 2 : 0)
    expect(await countUnfinishedJobs(queries, 8)).toBe(0)
  })

  test('is lost once and back once, while it is approved', async () => {
    const [id, revoked] = [await put(), await put({ state: 'revoked' })]
    expect(await markLost(queries, id, null)).toBe(false)
    expect([await markLost(queries, id, 50), await markLost(queries, id, 60)]).toEqual([true, false])
    expect(await markLost(queries, revoked, 50)).toBe(false)
    expect(await listWatchedConnections(queries)).toMatchObject([{ id, lostAt: 50 }])
    expect([await markLost(queries, id, null), await markLost(queries, id, null)]).toEqual([true, false])
  })
})

describe('runners', () => {
  test('of a node are those that are connected to it, and those that are asked about', async () => {
    const [here, there, none] = [
      await put({ connected_node: 'a', enabled: 0, max_jobs: 2 }),
      await put({ connected_node: 'b' }),
      await put(),
    ]
    const of = async (ids: number[]) => (await findRunnersOfNode(queries, ids, 'a')).map(({ id }) => id)
    expect(await of([])).toEqual([here])
    expect((await of([none])).toSorted()).toEqual([here, none])
    expect(await findRunnersOfNode(queries, [], 'a')).toEqual([
      {
        id: here,
        fingerprint: expect.any(String) as string,
        state: 'approved',
        epoch: 1,
        enabled: false,
        maxJobs: 2,
        connectedNode: 'a',
      },
    ])
    expect(await findConnectedNodes(queries, [])).toEqual([])
    expect(await findConnectedNodes(queries, [there])).toEqual([{ id: there, epoch: 1, connectedNode: 'b' }])
    await clearConnectedNode(queries, there, 2)
    expect(await findConnectedNodes(queries, [there])).toMatchObject([{ connectedNode: 'b' }])
    await clearConnectedNode(queries, there, 1)
    expect(await findConnectedNodes(queries, [there, here])).toMatchObject([
      { connectedNode: 'a' },
      { connectedNode: null },
    ])
  })

  test('that wait go when their sockets went, unless somebody keeps them', async () => {
    const [gone, kept, young, approved] = [
      await put({ state: 'waiting', last_seen: 9 }),
      await put({ state: 'waiting', last_seen: 9, kept_by: 'ann' }),
      await put({ state: 'waiting', last_seen: 10 }),
      await put({ last_seen: 9 }),
    ]
    expect((await listWaitingRunners(queries)).map(({ id, keptBy }) => [id, keptBy])).toEqual([
      [gone, null],
      [kept, 'ann'],
      [young, null],
    ])
    expect(await deleteLeftRequests(queries, [gone, kept, young, approved], 10)).toEqual([gone])
    expect((await listWaitingRunners(queries)).map(({ id }) => id)).toEqual([kept, young])
    expect((await findRunner(queries, approved))?.id).toBe(approved)
  })

  test('that are approved have addresses, and there may be none', async () => {
    await put({ state: 'waiting' })
    expect(await hasApprovedRunner(queries)).toBe(false)
    for (const ip of ['10.0.0.1', '10.0.0.1', '10.0.0.2']) await put({ ip })
    await put({ ip: '10.0.0.3', state: 'denied' })
    expect(await hasApprovedRunner(queries)).toBe(true)
    expect((await findApprovedAddresses(queries)).toSorted()).toEqual(['10.0.0.1', '10.0.0.2'])
  })

  test('whose connection is watched are those that are approved and turned on', async () => {
    const id = await put({ connected_node: 'a' })
    await put({ enabled: 0 })
    await put({ state: 'revoked' })
    expect(await listWatchedConnections(queries)).toMatchObject([{ id, connectedNode: 'a', lostAt: null }])
  })
})

describe('a join token', () => {
  const token = (hash: string, expiresAt = 100) =>
    insertJoinToken(queries, { name: null, hash, createdAt: 1, createdBy: 'ann', expiresAt })

  test('is good once, until its end', async () => {
    const { id } = await token('h')
    const good = (time: number) => isJoinTokenGood(queries, 'h', time)
    expect([await good(99), await good(100)]).toEqual([true, false])
    expect(await consumeJoinToken(queries, 'h', { time: 100, by: 'one' })).toBeNull()
    expect(await consumeJoinToken(queries, 'other', { time: 99, by: 'one' })).toBeNull()
    expect(await consumeJoinToken(queries, 'h', { time: 99, by: 'one' })).toMatchObject({
      id,
      usedAt: 99,
      usedBy: 'one',
    })
    expect(await consumeJoinToken(queries, 'h', { time: 99, by: 'two' })).toBeNull()
    expect(await good(99)).toBe(false)
  })

  test('is listed until it is deleted, or some time after its end', async () => {
    const ids = [(await token('a', 50)).id, (await token('b', 51)).id, (await token('c')).id]
    expect((await listJoinTokens(queries)).map(({ id }) => id)).toEqual(ids.toReversed())
    await deleteJoinTokensBefore(queries, 50)
    expect(await hasJoinToken(queries, ids[0] ?? 0)).toBe(true)
    await deleteJoinTokensBefore(queries, 51)
    expect(await Promise.all(ids.map((id) => hasJoinToken(queries, id)))).toEqual([false, true, true])
    expect([await deleteJoinToken(queries, ids[1] ?? 0), await deleteJoinToken(queries, ids[1] ?? 0)]).toEqual([
      true,
      false,
    ])
    expect((await listJoinTokens(queries)).map(({ id }) => id)).toEqual([ids[2]])
  })
})

describe('an address of a runner', () => {
  const add = (address: string) =>
    insertRunnerAddress(queries, { address, name: null, fingerprint: null, createdAt: 1, createdBy: 'ann' })

  test('is there once', async () => {
    const one = await add('http://a:1')
    expect(one).toEqual({
      id: one?.id,
      address: 'http://a:1',
      name: null,
      fingerprint: null,
      createdAt: 1,
      createdBy: 'ann',
      node: null,
      problem: null,
    })
    expect(await add('http://a:1')).toBeNull()
    const other = await add('http://b:1')
    const ids = [one?.id ?? 0, other?.id ?? 0] as const
    expect((await listRunnerAddresses(queries)).map(({ id }) => id)).toEqual(ids)
    expect([await hasRunnerAddress(queries, ids[0]), await hasRunnerAddress(queries, 99)]).toEqual([true, false])
    expect((await deleteRunnerAddress(queries, ids[0]))?.address).toBe('http://a:1')
    expect(await deleteRunnerAddress(queries, ids[0])).toBeNull()
    expect(await hasRunnerAddress(queries, ids[1])).toBe(true)
  })

  test('is dialled by one node, which alone says what its problem is', async () => {
    const id = (await add('http://a:1'))?.id ?? 0
    await add('http://b:1')
    const take = (node: string | null, taker: string) => takeRunnerAddress(queries, { id, node }, taker)
    expect(await take('gone', 'a')).toBe(false)
    expect([await take(null, 'a'), await take(null, 'b')]).toEqual([true, false])
    await noteAddressProblem(queries, { id, node: 'b', problem: 'of b' })
    await noteAddressProblem(queries, { id, node: 'a', problem: 'refused' })
    expect((await listRunnerAddresses(queries)).map(({ node, problem }) => [node, problem])).toEqual([
      ['a', 'refused'],
      [null, null],
    ])
    expect([await take('a', 'b'), await take('a', 'c')]).toEqual([true, false])
  })
})

test('a key of the service that was replaced keeps its public half until it is deleted', async () => {
  for (const publicKey of ['one', 'two', 'three']) {
    await insertServiceKey(queries, { publicKey, privateKey: Buffer.from(publicKey), createdAt: 1 })
  }
  const [three, two, one] = await listServiceKeys(queries)
  await retireServiceKey(queries, one?.id ?? 0, 'signed')
  expect(
    (await listServiceKeys(queries)).map((key) => [key.publicKey, key.privateKey?.toString(), key.signature]),
  ).toEqual([
    ['three', 'three', null],
    ['two', 'two', null],
    ['one', undefined, 'signed'],
  ])
  await deleteServiceKeys(queries, [])
  await deleteServiceKeys(queries, [one?.id ?? 0, three?.id ?? 0])
  expect((await listServiceKeys(queries)).map(({ id }) => id)).toEqual([two?.id])
})
