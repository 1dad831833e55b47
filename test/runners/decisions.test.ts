import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HelloPayload } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { acceptCopy, change, removeRunner } from '../../control-plane/src/runners/registration/admin/writes.js'
import { type JoinRequest, decideHello } from '../../control-plane/src/runners/registration/join/decision.js'
import { type Runner, findRunner, listRunners } from '../../control-plane/src/store/runners/runners.js'
import type { Queries, Store } from '../../control-plane/src/store/store.js'
import { insertTestRunner } from '../support/runner-rows.js'
import { openTestStore } from '../support/test-database.js'

/** What is decided about a hello, and what an admin may change, as far as the rows decide it. */
const LIMITS = { mostWaiting: 2, mostWaitingOfAddress: 2, mostDenied: 2 }
const TIME = 5000

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
  test('that was denied under one name is denied under the next one only', async () => {
    for (const name of ['edge', 'front']) await add(name, { fingerprint: `SHA256:owner of ${name}` })
    await decide()
    await decide({}, { name: 'front' })
    expect((await names()).toSorted()).toEqual(['edge approved', 'front approved', 'front denied'])
    // A free name makes a request of it.
    expect(await decide({}, { name: 'free' })).toMatchObject({ how: 'asked' })
    expect((await names()).toSorted()).toEqual(['edge approved', 'free waiting', 'front approved'])
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
