import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createAuditTrail } from '../../control-plane/src/audit/trail.js'
import { parseRoleConfig } from '../../control-plane/src/auth/roles/role-config.js'
import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  RefusedValuesError,
  TooLargeError,
  UnauthenticatedError,
  UnavailableError,
} from '../../control-plane/src/errors.js'
import { createScheduleStarts, type StartDependencies } from '../../control-plane/src/schedules/starts.js'
import { insertUser } from '../../control-plane/src/store/accounts/users.js'
import { findSchedule, insertSchedule, type MissedRuns } from '../../control-plane/src/store/service/schedules.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { openTestStore } from '../support/test-database.js'

const HOUR = 3_600_000
const NOON = Date.UTC(2026, 0, 15, 12)

let folder: string
let store: Store
let now: number
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-starts-'))
  store = await openTestStore(folder)
  now = NOON
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

/** A schedule of every hour that is due at noon. */
async function due(user: { enabled?: boolean; passwordMustChange?: boolean } = {}, missed: MissedRuns = 'skip') {
  const account = { type: 'local', username: 'ann', passwordHash: null, email: null, groups: [], createdAt: 1 } as const
  const { enabled = true, passwordMustChange = false } = user
  const { id } = await store.write('test', async (queries) => {
    const added = await insertUser(queries, { ...account, enabled, passwordMustChange })
    const wish = { name: 'hourly', form: 'F', cron: '0 * * * *', timeZone: 'UTC', onceAt: null, missed }
    return insertSchedule(
      queries,
      { ...wish, isPaused: false, values: {}, credentials: {}, isVerbose: false },
      { id: added?.id ?? 0, name: 'ann', type: 'local' },
      { nextAt: NOON, createdAt: 1 },
    )
  })
  return async () => {
    const found = await findSchedule(store.read, id)
    return { problem: found?.lastProblem, nextAt: found?.nextAt }
  }
}

/** Starts whose launches fail with this error. */
function starts(error: Error) {
  const logged: string[] = []
  const note = (_: object, text: string) => void logged.push(text)
  let launches = 0
  const clock = { now: () => now }
  const forms = {
    find() {
      launches += 1
      return Promise.reject(error)
    },
  }
  const made = createScheduleStarts({
    launching: { store, clock, forms } as unknown as StartDependencies['launching'],
    roles: {
      current: () => Promise.resolve(parseRoleConfig('roles:\n  - {name: admin, groups: [local/admins]}\n')),
    } as unknown as StartDependencies['roles'],
    trail: createAuditTrail({ store, clock, log: { error: () => undefined } }),
    log: { info: note, warn: note },
  })
  return { look: (sweeps?: { isClosed: boolean }) => made.look(sweeps), logged, launches: () => launches }
}

const ENDED = 'a schedule started no job'
const AGAIN = 'a schedule could not start its job; tried again soon'

describe('a start that is refused', () => {
  test.each<[string, Error]>([
    ['by the rights of the account', new ForbiddenError('x', 'no rights')],
    ['for what the schedule says', new InvalidInputError('x', 'no sense')],
    ['because the form is gone', new NotFoundError('x', 'no form')],
    ['for its values', new RefusedValuesError('x', 'no such value')],
    ['for its size', new TooLargeError('x', 'too large')],
    ['because nobody is signed in', new UnauthenticatedError('x', 'nobody')],
    ['because the group of the form is full', new ConflictError('group_full', 'full')],
  ])('%s ends this turn, and the next one comes at its time', async (_why, error) => {
    const shown = await due()
    const { look, logged } = starts(error)
    await look()
    expect(await shown()).toEqual({ problem: error.message, nextAt: NOON + HOUR })
    expect(logged).toEqual([ENDED])
  })

  test.each<[string, Error]>([
    ['the database is away', new UnavailableError('x', 'away')],
    ['somebody was faster', new ConflictError('other', 'faster')],
    ['of anything else', new Error('anything')],
  ])('because %s is tried again', async (_why, error) => {
    const shown = await due()
    const { look, logged, launches } = starts(error)
    await look()
    await look()
    expect(await shown()).toEqual({ problem: null, nextAt: NOON })
    expect([logged, launches()]).toEqual([[AGAIN, AGAIN], 2])
  })
})

describe('the account of a schedule', () => {
  test.each([
    [{ enabled: false }, 'The account ann, which made the schedule, is blocked'],
    [{ passwordMustChange: true }, 'ann, who made the schedule, has to change a password'],
  ])('that is %j starts nothing', async (user, problem) => {
    const shown = await due(user)
    const { look, launches } = starts(new Error('not reached'))
    await look()
    expect(await shown()).toEqual({ problem, nextAt: NOON + HOUR })
    expect(launches()).toBe(0)
  })

  test('that was removed starts nothing', async () => {
    const shown = await due()
    await store.write('test', (queries) => queries.deleteFrom('user').execute())
    await starts(new Error('not reached')).look()
    expect((await shown()).problem).toBe('The account ann, which made the schedule, was removed')
  })
})

describe('a start that comes late', () => {
  test.each([
    ['skip', 60_000, 1],
    ['skip', 60_001, 0],
    ['run', 60_001, 1],
  ] as const)('with %s, by %i ms, is tried %i times', async (missed, lateMs, tries) => {
    const shown = await due({}, missed)
    now = NOON + lateMs
    const { look, launches } = starts(new ForbiddenError('x', 'no rights'))
    await look()
    expect(launches()).toBe(tries)
    const missedWords = 'Missed: no control plane could start it at its time'
    expect(await shown()).toEqual({ problem: tries === 0 ? missedWords : 'no rights', nextAt: NOON + HOUR })
  })
})

test('a look that is closed starts nothing more, and a time that has not come starts nothing', async () => {
  const shown = await due()
  const { look, launches } = starts(new ForbiddenError('x', 'no rights'))
  await look({ isClosed: true })
  now = NOON - 1
  await look()
  expect([launches(), await shown()]).toEqual([0, { problem: null, nextAt: NOON }])
  now = NOON
  await look()
  expect(launches()).toBe(1)
})
