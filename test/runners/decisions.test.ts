import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HelloPayload } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  acceptCopy,
  change,
  moveRunner,
  removeRunner,
  requireSameKey,
} from '../../control-plane/src/runners/registration/admin/writes.js'
import { type RunnerMove, stateAfter } from '../../control-plane/src/runners/registration/admin/states.js'
import { type JoinRequest, decideHello } from '../../control-plane/src/runners/registration/join/decision.js'
import { insertJoinToken } from '../../control-plane/src/store/runners/join-tokens.js'
import { type Runner, findRunner, listRunners } from '../../control-plane/src/store/runners/runners.js'
import type { RunnerState } from '../../control-plane/src/words/runner-state.js'
import type { Queries, Store } from '../../control-plane/src/store/store.js'
import { insertTestRunner } from '../support/runner-rows.js'
import { openTestStore } from '../support/test-database.js'

/** What is decided about a hello, and what an admin may change, as far as the rows decide it. */
const LIMITS = { mostWaiting: 2, mostWaitingOfAddress: 2, mostDenied: 2 }
const TIME = 5000
const TOKEN = 'hash of a token'

let folder: string
let store: Store
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-decisions-'))
  store = await openTestStore(folder)
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const write = <T>(task: (queries: Queries) => Promise<T>): Promise<T> => store.write('test', task)
const add = (name: string, columns: Omit<Parameters<typeof insertTestRunner>[1], 'name'> = {}) =>
  write((queries) => insertTestRunner(queries, { name, ...columns }))
const addToken = (name: string | null = null, expiresAt = TIME + 1) =>
  write((queries) => insertJoinToken(queries, { name, hash: TOKEN, createdAt: 1, createdBy: 'root', expiresAt }))
const names = async () => (await listRunners(store.read)).map(({ name, state }) => `${name} ${state}`)

/** The decision about a hello of the agent `edge`, the third start of its process. */
function decide(changes: Partial<JoinRequest> = {}, said: Partial<HelloPayload> = {}) {
  const payload: HelloPayload = {
    name: 'edge',
    identity_key: 'new key',
    sealing_key: 'new sealing key',
    generation: 3,
    instance: 'process 3',
    contract: 1,
    speaks: 1,
    version: '0.2.0',
    ansible_version: null,
    host: 'new host',
    max_jobs: 4,
    isolation: 'none',
    join_token: null,
    succession: [],
    clock: TIME,
    ...said,
  }
  const request: JoinRequest = {
    payload,
    fingerprint: 'SHA256:edge',
    ancestors: [],
    address: '10.0.0.9',
    rivalAnswers: false,
    tokenHash: null,
    time: TIME,
    mode: 'outbound',
    nodeId: 'here',
    isConnected: () => true,
    ...changes,
  }
  return write((queries) => decideHello(queries, request, LIMITS))
}

describe('a known key', () => {
  test.each(['approved', 'waiting'] as const)('of a runner that is %s is back, with the next epoch', async (state) => {
    const { id } = await add('edge', { state, epoch: 7, draining: 1, max_jobs: 2 })
    expect(await decide()).toMatchObject({ kind: 'accepted', how: 'back', replaced: null, displaced: null })
    expect(await findRunner(store.read, id)).toMatchObject({
      state,
      epoch: 8,
      connectedNode: 'here',
      generation: 3,
      instance: 'process 3',
      host: 'new host',
      ip: '10.0.0.9',
      agentMaxJobs: 4,
      maxJobs: 2,
      // A process that starts does not drain yet.
      draining: false,
      lastSeen: TIME,
    })
  })

  test('of the same process that comes back still drains', async () => {
    const { id } = await add('edge', { generation: 3, instance: 'process 3', draining: 1 })
    await decide()
    expect((await findRunner(store.read, id))?.draining).toBe(true)
  })

  test('of an approved runner keeps its name, whatever it calls itself', async () => {
    await add('front', { fingerprint: 'SHA256:edge' })
    expect(await decide()).toMatchObject({ how: 'back', runner: { name: 'front' } })
  })

  test.each([
    ['an older start', {}, { generation: 0 }],
    ['a rival that answers', { rivalAnswers: true }, { generation: 3 }],
  ])('is refused as a copy: %s', async (_, request, said) => {
    const { id } = await add('edge', { epoch: 7, host: 'old host' })
    expect(await decide(request, said)).toMatchObject({ kind: 'refused', reason: 'clone', runnerId: id, visible: true })
    const { generation } = said
    const seen = { cloneHost: 'new host', cloneIp: '10.0.0.9', cloneGeneration: generation, cloneInstance: 'process 3' }
    expect(await findRunner(store.read, id)).toMatchObject({ epoch: 7, host: 'old host', ...seen })
  })

  test('of a revoked runner is refused, also when it has new keys', async () => {
    const { id } = await add('edge', { state: 'revoked' })
    const refused = { kind: 'refused', reason: 'revoked', runnerId: id, visible: false }
    expect(await decide()).toMatchObject(refused)
    expect(await decide({ fingerprint: 'SHA256:new', ancestors: ['SHA256:edge'] })).toMatchObject(refused)
  })
})

describe('new keys of a runner', () => {
  test('take the place of its old ones, and of the denied request that they made before', async () => {
    const { id } = await add('edge', { epoch: 7 })
    await add('other', { fingerprint: 'SHA256:new', state: 'denied' })
    const decision = await decide({ fingerprint: 'SHA256:new', ancestors: ['SHA256:none', 'SHA256:edge'] })
    expect(decision).toMatchObject({ kind: 'accepted', how: 'back', replaced: 'SHA256:edge', runner: { id, epoch: 8 } })
    expect(await findRunner(store.read, id)).toMatchObject({ fingerprint: 'SHA256:new', state: 'approved' })
    expect(await names()).toEqual(['edge approved'])
  })

  test('are not those of a request that was denied', async () => {
    await add('old', { state: 'denied' })
    expect(await decide({ ancestors: ['SHA256:old'] })).toMatchObject({ how: 'asked', replaced: null })
  })

  test('do not matter where the key itself waits', async () => {
    await add('edge', { state: 'waiting', enabled: 0 })
    await add('old')
    expect(await decide({ ancestors: ['SHA256:old'] })).toMatchObject({ how: 'back', runner: { state: 'waiting' } })
  })
})

describe('an unknown key', () => {
  test('asks, and waits', async () => {
    const decision = await decide()
    const runner = { name: 'edge', state: 'waiting', enabled: false, isDefault: false, epoch: 1, connectedNode: 'here' }
    expect(decision).toMatchObject({ kind: 'accepted', how: 'asked', replaced: null, displaced: null, runner })
  })

  test('is refused where the list is full, or takes the place of one whose runner has left', async () => {
    const [first] = [
      await add('a', { state: 'waiting', last_seen: 1 }),
      await add('b', { state: 'waiting', ip: '10.0.0.2' }),
    ]
    expect(await decide()).toMatchObject({
      kind: 'refused',
      reason: 'too_many_waiting',
      runnerId: null,
      visible: false,
    })
    expect(await decide({ isConnected: () => false })).toMatchObject({ how: 'asked', displaced: first.id })
    expect(await names()).toEqual(['b waiting', 'edge waiting'])
  })

  test.each(['approved', 'waiting', 'revoked'] as const)(
    'with the name of a runner that is %s is denied, once',
    async (state) => {
      await add('edge', { fingerprint: 'SHA256:owner', state })
      const first = await decide()
      expect(first).toMatchObject({ kind: 'refused', reason: 'denied', visible: true })
      const id = first.kind === 'refused' ? first.runnerId : null
      expect(await decide()).toMatchObject({ kind: 'refused', reason: 'denied', runnerId: id, visible: false })
      expect((await names()).toSorted()).toEqual([`edge ${state}`, 'edge denied'].toSorted())
      const row = await findRunner(store.read, id ?? 0)
      expect(row).toMatchObject({ state: 'denied', epoch: 0, connectedNode: null, lastSeen: TIME })
    },
  )

  test('that was denied under one name is denied under the next one only', async () => {
    for (const name of ['edge', 'front']) await add(name, { fingerprint: `SHA256:owner of ${name}` })
    await decide()
    await decide({}, { name: 'front' })
    expect((await names()).toSorted()).toEqual(['edge approved', 'front approved', 'front denied'])
    // A free name makes a request of it.
    expect(await decide({}, { name: 'free' })).toMatchObject({ how: 'asked' })
    expect((await names()).toSorted()).toEqual(['edge approved', 'free waiting', 'front approved'])
  })

  test('is kept as denied only with the newest others', async () => {
    await add('edge', { fingerprint: 'SHA256:owner' })
    for (const key of ['a', 'b', 'c']) await decide({ fingerprint: key, time: TIME })
    const denied = (await listRunners(store.read)).filter(({ state }) => state === 'denied')
    expect(denied.map(({ fingerprint }) => fingerprint).toSorted()).toEqual(['b', 'c'])
  })

  test('that asked under another name asks anew', async () => {
    const { id } = await add('old', { fingerprint: 'SHA256:edge', state: 'waiting' })
    expect(await decide()).toMatchObject({ how: 'asked', runner: { name: 'edge' } })
    expect(await findRunner(store.read, id)).toBeNull()
  })
})

describe('a join token', () => {
  test.each([
    ['lab', 'join token lab'],
    [null, 'join token #1'],
  ])('named %s approves a new runner at once, and the first one is the default', async (name, by) => {
    await addToken(name)
    const runner = { state: 'approved', enabled: true, isDefault: true, approvedBy: by, approvedAt: TIME }
    expect(await decide({ tokenHash: TOKEN })).toMatchObject({ how: 'joined', displaced: null, runner })
  })

  test('approves one that waits, and the next approved one is not the default', async () => {
    await add('first', { is_default: 0 })
    const { id } = await add('edge', { state: 'waiting', enabled: 0, epoch: 4 })
    await addToken()
    const runner = { id, state: 'approved', enabled: true, isDefault: false, epoch: 5 }
    expect(await decide({ tokenHash: TOKEN })).toMatchObject({ how: 'joined', runner })
  })

  test.each([
    ['that is unknown', 'another hash', TIME + 1],
    ['whose time is over', TOKEN, TIME],
  ])('%s leaves a request that waits', async (_, tokenHash, expiresAt) => {
    await addToken(null, expiresAt)
    expect(await decide({ tokenHash })).toMatchObject({ how: 'asked', runner: { state: 'waiting' } })
    expect(await decide({ tokenHash })).toMatchObject({ how: 'back', runner: { state: 'waiting' } })
  })

  test('works once', async () => {
    await addToken()
    await decide({ tokenHash: TOKEN })
    const second = { tokenHash: TOKEN, fingerprint: 'SHA256:second' }
    expect(await decide(second, { name: 'second' })).toMatchObject({ how: 'asked' })
  })

  test('has the name that only a request keeps, and not that of an approved runner', async () => {
    await addToken()
    const { id } = await add('edge', { fingerprint: 'SHA256:owner', state: 'waiting' })
    expect(await decide({ tokenHash: TOKEN })).toMatchObject({ how: 'joined', displaced: id })
    expect(await names()).toEqual(['edge approved'])
    const other = { tokenHash: TOKEN, fingerprint: 'SHA256:other' }
    expect(await decide(other)).toMatchObject({ kind: 'refused', reason: 'denied' })
  })

  test('is not used up by a copy of a runner that waits', async () => {
    await add('edge', { state: 'waiting' })
    await addToken()
    expect(await decide({ tokenHash: TOKEN, rivalAnswers: true })).toMatchObject({ kind: 'refused', reason: 'clone' })
    expect(await decide({ tokenHash: TOKEN }, { generation: 0 })).toMatchObject({ reason: 'clone' })
    expect(await decide({ tokenHash: TOKEN })).toMatchObject({ how: 'joined' })
  })
})

describe('what an admin changes', () => {
  const changed = (runner: Runner, changes: Parameters<typeof change>[2]) =>
    write((queries) => change(queries, runner, changes, 'root'))
  const conflict = (code: string) => expect.objectContaining({ code }) as Error

  test.each([
    ['waiting', { enabled: true }, 'runner_state'],
    ['waiting', { isDefault: false }, 'runner_state'],
    ['revoked', { enabled: false }, 'runner_state'],
    ['approved', { keep: true }, 'runner_state'],
    ['denied', { keep: false }, 'runner_state'],
    ['waiting', { name: 'new' }, 'runner_state'],
    ['denied', { name: 'new' }, 'runner_state'],
    ['approved', { name: 'taken' }, 'runner_name_taken'],
    ['revoked', { name: 'taken' }, 'runner_name_taken'],
    ['approved', { name: 'edge' }, null],
    ['revoked', { name: 'new' }, null],
    ['approved', { enabled: false }, null],
    ['waiting', { keep: true }, null],
    ['waiting', { description: 'x', maxJobs: 3 }, null],
  ] as const)('of a runner that is %s: %o gives %s', async (state, changes, code) => {
    await add('taken')
    const runner = await add('edge', { state })
    if (code === null) expect((await changed(runner, changes))?.id).toBe(runner.id)
    else await expect(changed(runner, changes)).rejects.toEqual(conflict(code))
  })

  test('stays what it is where nothing is said, and is stored where something is', async () => {
    const runner = await add('edge', { description: 'old', max_jobs: 3, is_default: 1 })
    expect(await changed(runner, {})).toMatchObject({ enabled: true, isDefault: true, description: 'old', maxJobs: 3 })
    const all = { enabled: false, isDefault: false, description: '', maxJobs: null, name: 'new' }
    expect(await changed(runner, all)).toMatchObject(all)
    const waiting = await add('waits', { state: 'waiting' })
    expect((await changed(waiting, { keep: true }))?.keptBy).toBe('root')
    expect((await changed(waiting, { keep: false }))?.keptBy).toBeNull()
  })

  test('a name that was given away makes a request of the denied one', async () => {
    const runner = await add('edge')
    const denied = await add('edge', { fingerprint: 'SHA256:denied', state: 'denied' })
    await changed(runner, { description: 'x', name: 'edge' })
    expect((await findRunner(store.read, denied.id))?.state).toBe('denied')
    await changed(runner, { name: 'new' })
    expect((await findRunner(store.read, denied.id))?.state).toBe('waiting')
  })

  test('a removed runner frees its name, and a removed denied request frees nothing', async () => {
    const runner = await add('edge')
    const [one, other] = [
      await add('edge', { fingerprint: 'SHA256:one', state: 'denied' }),
      await add('edge', { fingerprint: 'SHA256:other', state: 'denied' }),
    ]
    expect(await write((queries) => removeRunner(queries, one))).toBeNull()
    expect((await findRunner(store.read, other.id))?.state).toBe('denied')
    await write((queries) => removeRunner(queries, runner))
    expect(await names()).toEqual(['edge waiting'])
  })

  test('a move that the state does not allow changes nothing', async () => {
    const runner = await add('edge', { state: 'revoked' })
    await expect(write((queries) => moveRunner(queries, runner, 'approve', {}))).rejects.toEqual(
      conflict('runner_state'),
    )
    expect(await names()).toEqual(['edge revoked'])
  })

  test('only the key that was compared is approved', async () => {
    const runner = await add('edge')
    expect(() => requireSameKey(runner, undefined)).not.toThrow()
    expect(() => requireSameKey(runner, 'SHA256:edge')).not.toThrow()
    expect(() => requireSameKey(runner, 'SHA256:another')).toThrow('it is another host or has a new key')
  })

  test('a copy is accepted where one was refused, and the process before it is replaced', async () => {
    const clone = { clone_seen_at: 9, clone_host: 'h', clone_ip: 'i', clone_generation: 2, clone_instance: 'copy' }
    const accept = (runner: Runner) => write(async (queries) => acceptCopy(queries, runner, 'ada'))
    await expect(accept(await add('none'))).rejects.toEqual(conflict('no_clone'))
    for (const half of [{ clone_generation: null }, { clone_instance: null }]) {
      const runner = await add(`half ${Object.keys(half).join('')}`, { ...clone, ...half })
      await expect(accept(runner)).rejects.toEqual(conflict('no_clone'))
    }
    await expect(accept(await add('revoked', { ...clone, state: 'revoked' }))).rejects.toEqual(conflict('runner_state'))
    const accepted = await accept(await add('edge', { ...clone, draining: 1, instance: 'old' }))
    const gone = { cloneSeenAt: null, cloneHost: null, cloneIp: null, cloneGeneration: null, cloneInstance: null }
    const now = { generation: 2, instance: 'copy', replacedInstance: 'old', draining: false }
    expect(accepted).toMatchObject({ ...now, ...gone })
  })
})

test.each([
  ['denied', 'approve', /remove that runner first/],
  ['revoked', 'approve', /reinstate it/],
  ['denied', 'revoke', /A runner in state denied cannot be revoked/],
  ['revoked', 'expire', /A runner in state revoked cannot be expired/],
  ['approved', 'approve', /A runner in state approved cannot be approved/],
  ['approved', 'free', /A runner in state approved cannot be freed/],
  ['waiting', 'reinstate', /A runner in state waiting cannot be reinstated/],
] as const)('a runner that is %s cannot %s, and the answer says why', (state: RunnerState, move: RunnerMove, why) => {
  expect(() => stateAfter(state, move)).toThrow(why)
})
