import { before } from '../support/ages.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Caller } from '../../control-plane/src/auth/sessions/caller.js'
import { createApiTokens } from '../../control-plane/src/auth/sessions/api-tokens.js'
import { createFirstAdmin } from '../../control-plane/src/auth/accounts/first-admin.js'
import { createPasswords } from '../../control-plane/src/auth/sign-in/passwords.js'
import { createSessions } from '../../control-plane/src/auth/sessions/sessions.js'
import { ACCOUNT_LIMIT } from '../../control-plane/src/auth/sign-in/sign-in.js'
import { createTokens } from '../../control-plane/src/auth/sessions/tokens.js'
import { createDesignerLock } from '../../control-plane/src/forms/designer-lock.js'
import { abort } from '../../control-plane/src/jobs/end/actions.js'
import { approve, reject } from '../../control-plane/src/jobs/approve/approving.js'
import { endJob } from '../../control-plane/src/jobs/end/ending.js'
import { createLiveEvents } from '../../control-plane/src/live/live-events.js'
import {
  type JoinRequest,
  approvedNow,
  decideHello,
} from '../../control-plane/src/runners/registration/join/decision.js'
import { insertAwaitedApproval } from '../../control-plane/src/store/jobs/approvals.js'
import { markClaimed, requeue, takeQueued } from '../../control-plane/src/store/jobs/dispatch.js'
import { appendServiceLine, appendToStreams } from '../../control-plane/src/store/jobs/job-streams.js'
import { deleteJob, findJob, findJobSummary } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { insertJoinToken } from '../../control-plane/src/store/runners/join-tokens.js'
import { deleteUnusedUploads, insertUpload, linkJobFiles } from '../../control-plane/src/store/uploads/uploads.js'
import { insertRunner, listRunners, updateRunner } from '../../control-plane/src/store/runners/runners.js'
import { countFailure } from '../../control-plane/src/store/accounts/sign-in-failures.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { findUserByName, insertUser } from '../../control-plane/src/store/accounts/users.js'
import { queuedJob } from '../runners/queued-job.js'
import { type Nodes, openNodes, temporaryFolder } from './nodes.js'

/**
 * What two nodes on one database do at the same moment comes out as if one had done it after the other. Each of these decides
 * something by what it has read, which the other node may be changing.
 */
const clock = { now: () => 1_700_000_000_000 }
/** A runner that there is none of. */
const NOBODY = 1_000_000
const live = createLiveEvents()
const runners = { jobQueued: () => undefined, abortRequested: () => undefined }
const sequences = {
  advance: () => undefined,
  jobEnded: () => undefined,
  endsWithRejection: () => true,
  noteDecision: () => Promise.resolve(),
  closeWaiting: () => Promise.resolve(),
}
const APPROVAL = {
  title: 'Sure?',
  message: null,
  message_text: null,
  roles: ['ops'],
  notifications: [],
  allowSelf: true,
  state: 'waiting',
  decided_by: null,
  decided_by_type: null,
  decided_by_id: null,
  decided_at: null,
  subject: { manifest_sha256: 'a', form_sha256: 'b' },
  forced: false,
}
const admin = {
  id: 1,
  username: 'root',
  type: 'local',
  groups: [],
  roles: ['admin'],
  isAdmin: true,
} as unknown as Caller

let nodes: Nodes
beforeAll(async () => {
  nodes = await openNodes(2)
})
afterAll(() => nodes.close())

const first = (): Store => nodes.stores[0] as Store
const count = <T>(values: readonly T[], value: T) => values.filter((one) => one === value).length

/** `done` for what went well, else the code of the error. */
async function outcome(act: Promise<unknown>): Promise<string> {
  try {
    await act
    return 'done'
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === undefined) throw error
    return code
  }
}

const MANY = { mostWaiting: 1000, mostWaitingOfAddress: 1000 }

function addRunner(name: string): Promise<number> {
  return first().write('test.runner', async (queries) => {
    const row = hello(name)
    const decision = await decideHello(queries, row, { ...MANY, mostDenied: 100 })
    if (decision.kind !== 'accepted') throw new Error(decision.text)
    return decision.runner.id
  })
}

function hello(name: string, key = name, tokenHash: string | null = null): JoinRequest {
  return {
    payload: {
      name,
      identity_key: `identity of ${key}`,
      sealing_key: `sealing of ${key}`,
      host: 'h',
      version: '1',
      contract: 1,
      speaks: 1,
      isolation: 'none',
      ansible_version: null,
      max_jobs: 10,
      generation: 1,
      instance: key,
      clock: clock.now(),
    } as unknown as JoinRequest['payload'],
    fingerprint: `SHA256:${key}`,
    address: '10.0.0.1',
    rivalAnswers: false,
    mode: 'outbound',
    ancestors: [],
    tokenHash,
    time: clock.now(),
    nodeId: 'one',
    isConnected: () => true,
  }
}

const addJob = (store: Store, runnerId: number, changes: object = {}) =>
  store.write('test.launch', (queries) => insertJob(queries, { ...queuedJob(runnerId), ...changes }))

test('launches get a number of their own, and each is there', async () => {
  const ids = await nodes.atOnce((store) => addJob(store, NOBODY), 100)
  expect(new Set(ids).size).toBe(200)
  const found = await nodes.atOnce((store, turn) => findJob(store.read, ids[turn] ?? 0), 100)
  expect(found.every((job) => job?.form === 'f')).toBe(true)
})

test('a waiting job is taken once, and a claim that was made counts', async () => {
  const runner = await addRunner('taker')
  await Promise.all(Array.from({ length: 20 }, () => addJob(first(), runner)))
  const taken = await nodes.atOnce(
    (store) => store.write('test.take', (queries) => takeQueued(queries, runner, 'SHA256:taker', 3, 1)),
    5,
  )
  const ids = taken.flat().map(({ id }) => id)
  expect([ids.length, new Set(ids).size]).toEqual([20, 20])
  await nodes.atOnce((store, turn) =>
    store.write('test.claim', (queries) =>
      turn % 2 === 0 ? markClaimed(queries, ids[0] ?? 0, 1, 1) : requeue(queries, ids[0] ?? 0, 1),
    ),
  )
  expect((await findJobSummary(first().read, ids[0] ?? 0))?.dispatch).toBe('claimed')
})

test('a job is approved or rejected, never both, and only once', async () => {
  const runner = await addRunner('approved-of')
  await first().write('test.switch', async (queries) => {
    const approval = await approvedNow(queries, 'root', clock.now())
    await updateRunner(queries, runner, 'waiting', { ...approval, is_default: 0 })
  })
  const grants = { of: () => Promise.resolve({ account: 'good', isAdmin: true, roles: [] } as never) }
  const subjects = { now: () => Promise.resolve({ manifest_sha256: 'a', form_sha256: 'b' }) }
  for (let round = 0; round < 8; round += 1) {
    const id = await first().write('test.waiting', async (queries) => {
      const waiting = { status: 'approve', dispatch: 'parked', approval: JSON.stringify(APPROVAL) } as const
      const job = await insertJob(queries, { ...queuedJob(runner), ...waiting })
      await insertAwaitedApproval(queries, job, { roles: ['ops'], allowSelf: true })
      return job
    })
    const outcomes = await nodes.atOnce((store, turn) => {
      const dependencies = { store, live, clock, runners, sequences, grants, subjects }
      return outcome(turn % 2 === 0 ? approve(dependencies, admin, id) : reject(dependencies, admin, id))
    }, 2)
    expect(outcomes.sort()).toEqual(['done', 'not_waiting', 'not_waiting', 'not_waiting'])
    const moves = await first().read.selectFrom('job_transition').selectAll().where('job_id', '=', id).execute()
    expect(moves.length).toBe(1)
  }
})

test('a job ends once, whoever races: its runner, an abort, a deletion', async () => {
  for (let round = 0; round < 8; round += 1) {
    const id = await addJob(first(), NOBODY)
    await nodes.atOnce(async (store, turn) => {
      const act = turn % 4
      if (act === 0)
        await outcome(
          abort({ store, live, clock, runners, sequences, uploads: { sweepSoon: () => undefined } }, admin, id),
        )
      if (act === 1)
        await store.write('test.end', (queries) =>
          endJob(queries, id, { status: 'success', reason: null, detail: null }, clock.now()),
        )
      if (act === 2) await store.write('test.line', (queries) => appendServiceLine(queries, id, 'a line'))
      if (act === 3) await store.write('test.delete', (queries) => deleteJob(queries, id, { time: 1 }))
    }, 4)
    const job = await findJobSummary(first().read, id)
    const moves = await first().read.selectFrom('job_transition').selectAll().where('job_id', '=', id).execute()
    expect(moves.length).toBe(job ? 1 : 0)
  }
})

test('a stream grows at one place: of those who stored at the same length one did', async () => {
  const id = await addJob(first(), NOBODY)
  let lengths = { output: 0, events: 0, eventsCount: 0 }
  for (let round = 0; round < 10; round += 1) {
    const results = await nodes.atOnce((store) =>
      store.write('test.append', (queries) => appendToStreams(queries, id, lengths, Buffer.from('piece\n'), [])),
    )
    const [stored] = results.filter((one) => one !== null)
    expect([results.filter((one) => one === null).length, stored?.output]).toEqual([1, lengths.output + 6])
    lengths = stored ?? lengths
  }
})

test('a refresh token is good once, and used twice ends the session', async () => {
  const user = await first().write('test.user', (queries) =>
    insertUser(queries, {
      username: 'ann',
      type: 'local',
      passwordHash: 'x',
      email: null,
      groups: [],
      enabled: true,
      createdAt: 1,
    }),
  )
  if (!user) throw new Error('no user')
  const sessionsOf = (store: Store) =>
    createSessions({
      store,
      clock,
      accessTokenMs: 60_000,
      refreshTokenMs: 600_000,
      sessionMaxMs: 600_000,
      tokens: createTokens('a secret of the tests', clock),
      roles: { current: () => Promise.resolve({ roles: [] }), problem: () => null } as never,
    })
  for (let round = 0; round < 8; round += 1) {
    const { refreshtoken } = await sessionsOf(first()).begin(user, '127.0.0.1')
    const outcomes = await nodes.atOnce((store) => outcome(sessionsOf(store).refresh(refreshtoken)))
    expect(count(outcomes, 'done')).toBeLessThanOrEqual(1)
    expect(await first().read.selectFrom('session').selectAll().execute()).toEqual([])
  }
})

test('a join token lets one runner in', async () => {
  for (let round = 0; round < 8; round += 1) {
    const hash = `token-${round}`
    await first().write('test.token', (queries) =>
      insertJoinToken(queries, { name: null, hash, createdAt: 1, createdBy: 'root', expiresAt: clock.now() + 1000 }),
    )
    const decisions = await nodes.atOnce((store, turn) =>
      store.write('test.hello', (queries) =>
        decideHello(queries, hello(`joined-${round}-${turn}`, undefined, hash), { ...MANY, mostDenied: 10 }),
      ),
    )
    expect(decisions.map((one) => (one.kind === 'accepted' ? one.how : one.reason)).sort()).toEqual(['asked', 'joined'])
  }
})

test('a name belongs to one key, and no more ask than may', async () => {
  const waiting = (await listRunners(first().read)).filter(({ state }) => state === 'waiting').length
  const limits = { ...MANY, mostWaiting: waiting + 6, mostDenied: 100 }
  const decisions = await nodes.atOnce((store, turn) => {
    const request = hello(`asking-${Math.floor(turn / 2)}`, `key-${turn}`)
    return store.write('test.hello', (queries) => decideHello(queries, request, limits))
  }, 10)
  expect(decisions.filter(({ kind }) => kind === 'accepted').length).toBe(6)
  const now = (await listRunners(first().read)).filter(({ state }) => state === 'waiting')
  expect([now.length, new Set(now.map(({ name }) => name)).size]).toEqual([limits.mostWaiting, limits.mostWaiting])
})

test('there is one default runner, one lock, one first admin', async () => {
  // The first approved runner is the default one, so there is none yet.
  await first().write('test.clear', (queries) =>
    queries.updateTable('runner').set({ is_default: 0, state: 'revoked' }).where('state', '=', 'approved').execute(),
  )
  const ids = await Promise.all(Array.from({ length: 8 }, (_, turn) => addRunner(`default-${turn}`)))
  await nodes.atOnce(
    (store, turn) =>
      store.write('test.approve', async (queries) =>
        updateRunner(queries, ids[turn] ?? 0, 'waiting', await approvedNow(queries, 'root', clock.now())),
      ),
    4,
  )
  expect((await listRunners(first().read)).filter(({ isDefault }) => isDefault).length).toBe(1)

  const locks = await nodes.atOnce((store, turn) =>
    outcome(createDesignerLock({ store, live, clock }).take({ id: turn + 1, name: `local/${turn}` })),
  )
  expect(locks.sort()).toEqual(['done', 'lock_held'])

  const folder = await temporaryFolder()
  const passwords = createPasswords({ memoryCost: 1024, timeCost: 1, parallelism: 1 })
  const password = 'correct horse battery'
  await first().write('test.empty', (queries) => queries.deleteFrom('user').execute())
  const made = await nodes.atOnce((store) =>
    createFirstAdmin({ store, passwords, clock, persistentPath: folder.path, username: 'admin', password }),
  )
  expect(made.filter((one) => one !== null).length).toBe(1)
  await folder.remove()
})

test('every failed sign-in counts, and nobody has more API tokens than they may', async () => {
  const held = await nodes.atOnce(
    (store) => store.write('test.fail', (queries) => countFailure(queries, 'user:ann', ACCOUNT_LIMIT, clock.now())),
    10,
  )
  expect(count(held, true)).toBe(1)
  const row = await first().read.selectFrom('sign_in_failure').selectAll().executeTakeFirst()
  expect(row?.failures).toBe(20)

  const owner = await findUserByName(first().read, 'local', 'admin')
  if (!owner) throw new Error('no admin')
  const tokens = createTokens('a secret of the tests', clock)
  const roles = { current: () => Promise.resolve({ roles: [] }), problem: () => null } as never
  const lifetimes = { accessTokenMs: 60_000, refreshTokenMs: 600_000, sessionMaxMs: 600_000 }
  const pair = await createSessions({ store: first(), tokens, roles, clock, ...lifetimes }).begin(owner, '127.0.0.1')
  const { sessionId } = await tokens.readAccess(pair.token)
  const by = {
    ...admin,
    id: owner.id,
    sessionId,
    tokenScopes: null,
    options: { allowApiTokens: true },
  } as unknown as Caller
  const log = { warn: () => undefined } as never
  const outcomes = await nodes.atOnce((store) => {
    const given = { name: 'x', days: null, scopes: null }
    return outcome(createApiTokens({ store, roles, clock, log, mostDays: 90 }).create(by, given))
  }, 60)
  const kept = await first().read.selectFrom('session').select('id').where('kind', '=', 'api').execute()
  expect([kept.length, new Set(outcomes)]).toEqual([count(outcomes, 'done'), new Set(['done', 'too_many_tokens'])])
})

test('an upload goes to the job that takes it, or is gone for it', async () => {
  for (let round = 0; round < 8; round += 1) {
    const upload = {
      stored_name: `file-${round}`,
      owner_id: 1,
      owner_name: 'ann',
      owner_type: 'local',
      size: 1,
      sha256: 'x',
      original_name: 'x',
      mime_type: 'x',
      encoding: '7bit',
      created_at: 1,
      used: 0,
    }
    const uploadId = await first().write('test.upload', (queries) => insertUpload(queries, upload))
    const [missing, swept] = await nodes.atOnce(async (store, turn): Promise<readonly string[]> => {
      if (turn % 2 === 1) return store.write('test.sweep', (queries) => deleteUnusedUploads(queries, before(2)))
      return store.write('test.link', async (queries) => {
        const job = await insertJob(queries, queuedJob(1))
        return linkJobFiles(queries, job, [{ field: 'cert', uploadId }])
      })
    })
    expect(missing?.length).toBe(swept?.length)
  }
})

test('what breaks a rule by itself is said, and holds nobody up', async () => {
  const row = { name: 'twice', holder: 'x', taken_at: 1, touched_at: 1 }
  const twice = first().write('test.twice', async (queries) => {
    await queries.insertInto('lock').values(row).execute()
    await queries.insertInto('lock').values(row).execute()
  })
  await expect(twice).rejects.toThrow('duplicate key')
  expect(await insertRunnerTwice()).toBe('refused')

  async function insertRunnerTwice(): Promise<string> {
    const [known] = await listRunners(first().read)
    const { id: _id, ...columns } = await first()
      .read.selectFrom('runner')
      .selectAll()
      .where('id', '=', known?.id ?? 0)
      .executeTakeFirstOrThrow()
    return first()
      .write('test.same', (queries) => insertRunner(queries, columns))
      .then(
        () => 'stored',
        () => 'refused',
      )
  }
})
