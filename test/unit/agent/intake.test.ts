import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentMessage, JobOrder } from '@holdfast/protocol'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { BlobGoneError, TransferStalledError } from '../../../runner-agent/src/files/blob-transfer.js'
import { createIntake, type IntakeDependencies, type Refusal } from '../../../runner-agent/src/jobs/intake.js'
import type { JobFolder } from '../../../runner-agent/src/spool/job-folder.js'
import { openSpool, type Spool } from '../../../runner-agent/src/spool/spool.js'
import { holdClock } from '../../agent/held-clock.js'
import { orderOf } from '../../agent/playbooks.js'
import { waitUntil } from '../../agent/waiting.js'
import { errorOf } from './one-job.js'

/** A step that the test lets go on. */
function held<Given extends unknown[], Result>(step: (...given: Given) => Promise<Result>) {
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  const called = { count: 0 }
  const wrapped = async (...given: Given): Promise<Result> => {
    called.count += 1
    await gate
    return step(...given)
  }
  return {
    step: wrapped,
    called,
    open: () => {
      open()
    },
  }
}

type SpoolParts = { -readonly [Name in 'stage' | 'admit' | 'discard' | 'isPast' | 'problem']: Spool[Name] }

/** An intake over a real spool of which the test may replace parts. */
async function setting(change: Partial<IntakeDependencies> = {}) {
  const statePath = mkdtempSync(join(tmpdir(), 'holdfast-intake-'))
  const logged: string[] = []
  const log = pino({ level: 'info' }, { write: (line) => void logged.push(line) })
  const real = openSpool(statePath, log)
  await real.prepare()
  onTestFinished(async () => {
    await real.close()
    rmSync(statePath, { recursive: true })
  })
  const spool: SpoolParts = {
    stage: (key) => real.stage(key),
    admit: (staged) => real.admit(staged),
    discard: (staged) => real.discard(staged),
    isPast: (key) => real.isPast(key),
    problem: () => real.problem(),
  }
  const sent: AgentMessage[] = []
  const port = {
    send: (message: AgentMessage) => void sent.push(message),
    transfer: { fetch: () => Promise.resolve() },
    uploads: {},
  } as never
  const claimed: JobFolder[] = []
  const trims = { count: 0, error: null as Error | null }
  const intake = createIntake({
    spool: spool as never,
    cache: {
      hold: () => () => undefined,
      has: () => Promise.resolve(true),
      trim: () => {
        trims.count += 1
        return trims.error === null ? Promise.resolve() : Promise.reject(trims.error)
      },
    } as never,
    uploadStore: {} as never,
    log,
    now: () => new Date(0),
    bootId: 'this boot',
    service: () => `SHA256:${'a'.repeat(43)}`,
    withFiles: false,
    openSecrets: () => null,
    refusal: () => null,
    claimed: (folder) => void claimed.push(folder),
    ...change,
  })
  const order = orderOf('0'.repeat(64))
  const key = { jobId: order.job_id, runId: order.run_id }
  const offer = (given: JobOrder = order): void => {
    intake.offer(given, port)
  }
  const refusals = () => sent.flatMap((one) => (one.type === 'refused' ? [[one.code, one.message]] : []))
  const isOver = () => waitUntil('the offer is over', () => intake.count === 0 && trims.count > 0)
  const staged = () => readdirSync(join(statePath, 'spool', 'staging'))
  return { intake, spool, order, key, offer, sent, refusals, claimed, trims, logged, isOver, staged }
}

describe('an offered job', () => {
  test('holds a slot until it is claimed, and is in the spool then', async () => {
    const { intake, spool, offer, order, key, sent, claimed, trims, isOver } = await setting()
    const admit = held(spool.admit)
    spool.admit = admit.step
    offer()
    expect([intake.count, intake.claiming]).toEqual([1, 0])
    await waitUntil('it is being claimed', () => admit.called.count)
    expect([intake.count, intake.claiming, claimed.length, trims.count]).toEqual([1, 1, 0, 0])
    let isSettled = false
    const settled = intake.settled().then(() => (isSettled = true))
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    expect(isSettled).toBe(false)
    admit.open()
    await settled
    expect(claimed).toHaveLength(1)
    await isOver()
    expect([intake.count, intake.claiming, trims.count, sent]).toEqual([0, 0, 1, []])
    expect(claimed[0]?.claim()).toMatchObject({ kind: 'present', content: { order, boot_id: 'this boot' } })
    expect(claimed[0]?.key).toEqual(key)
    expect(readFileSync(claimed[0]?.file('extravars.yml') ?? '', 'utf8')).toContain('{')
    expect(existsSync(claimed[0]?.file('work') ?? '')).toBe(false)
  })

  test('that is offered twice is taken once', async () => {
    const { intake, spool, offer, claimed, isOver } = await setting()
    const stage = held(spool.stage)
    spool.stage = stage.step
    offer()
    offer()
    expect([intake.count, stage.called.count]).toEqual([1, 1])
    stage.open()
    await isOver()
    expect(claimed).toHaveLength(1)
  })

  test('is refused for what the host says, and nothing is made for it', async () => {
    const refusal: Refusal = { code: 'busy', message: 'b'.repeat(5000) }
    const { intake, offer, refusals, staged } = await setting({ refusal: () => refusal })
    offer()
    expect([refusals(), intake.count, staged()]).toEqual([[['busy', 'b'.repeat(4000)]], 0, []])
  })

  test('that was over before is not taken, and nothing else is asked about it', async () => {
    const { spool, offer, refusals } = await setting({ refusal: () => ({ code: 'busy', message: 'later' }) })
    spool.isPast = () => true
    offer()
    expect(refusals()).toMatchObject([['files_failed', expect.stringContaining('this run was over before') as string]])
    spool.isPast = () => {
      throw errorOf('EIO')
    }
    offer()
    expect(refusals()[1]).toMatchObject(['busy', expect.stringContaining('cannot be looked up') as string])
  })

  test('whose secrets cannot be opened is refused for good', async () => {
    const openSecrets = (): never => {
      throw new Error('they are sealed for another key')
    }
    const { intake, offer, refusals } = await setting({ openSecrets })
    offer()
    expect([refusals(), intake.count]).toEqual([[['files_failed', 'they are sealed for another key']], 0])
  })
})

describe('an offer that fails', () => {
  test.each<[string, Error, string, boolean]>([
    ['a file that changed', new BlobGoneError('gone'), 'files_changed', false],
    ['a full disk', errorOf('ENOSPC'), 'spool_full', false],
    ['a full quota', errorOf('EDQUOT'), 'spool_full', false],
    ['a read-only disk', errorOf('EROFS'), 'spool_full', false],
    ['too many open files', errorOf('EMFILE'), 'busy', true],
    ['a file that went', errorOf('ENOENT'), 'busy', true],
    ['a transfer that stalls', new TransferStalledError('no more came'), 'busy', true],
    ['anything else', new Error('it is no list'), 'files_failed', false],
  ])('because of %s is refused with its code', async (_, error, code, isTrouble) => {
    const { intake, spool, offer, key, refusals, isOver, staged, claimed } = await setting()
    spool.admit = () => Promise.reject(error)
    offer()
    await isOver()
    expect(refusals()).toEqual([[code, error.message]])
    expect([intake.claiming, claimed, staged()]).toEqual([0, [], []])
    expect(intake.trouble).toBe(isTrouble ? `job ${key.jobId} cannot be taken yet: ${error.message}` : null)
    expect(intake.drop(key)).toBe('unknown')
  })

  test('before anything was made for it is refused, too', async () => {
    const { spool, offer, refusals, isOver } = await setting()
    spool.stage = () => Promise.reject(new Error('no folder'))
    spool.discard = () => Promise.reject(new Error('there is nothing to discard'))
    offer()
    await isOver()
    expect(refusals()).toEqual([['files_failed', 'no folder']])
  })

  test('while the disk of the spool is away may be offered again', async () => {
    const { intake, spool, offer, refusals, isOver } = await setting()
    spool.admit = () => Promise.reject(new Error('it is no folder'))
    spool.problem = () => 'the spool is not mounted'
    offer()
    await isOver()
    expect(refusals()).toEqual([['busy', 'the spool is not mounted']])
    expect(intake.trouble).toContain('cannot be taken yet: the spool is not mounted')
  })

  test('and cannot be cleared up leaves words in the log', async () => {
    const { spool, offer, trims, logged, isOver } = await setting()
    spool.admit = () => Promise.reject(new Error('it is no folder'))
    spool.discard = () => Promise.reject(errorOf('EIO'))
    trims.error = errorOf('EIO')
    offer()
    await isOver()
    await waitUntil('both are logged', () => logged.filter((line) => line.includes('cannot clear up')).length === 2)
  })

  test('is shown for half a minute, or until the next job is taken', async () => {
    const { intake, spool, offer, trims, isOver } = await setting()
    const admit = spool.admit
    const fails = async (): Promise<void> => {
      trims.count = 0
      spool.admit = () => Promise.reject(errorOf('EMFILE'))
      offer()
      await isOver()
    }
    await fails()
    expect(intake.trouble).not.toBeNull()
    spool.admit = admit
    trims.count = 0
    offer()
    await isOver()
    expect(intake.trouble).toBeNull()
  })

  test('is no trouble any more after exactly 30 seconds', async () => {
    const { intake, spool, offer } = await setting()
    const clock = holdClock({ performance: true })
    spool.admit = () => Promise.reject(errorOf('EMFILE'))
    offer()
    for (let turn = 0; intake.count > 0 && turn < 100_000; turn += 1) await new Promise(setImmediate)
    clock.move(29_999)
    expect(intake.trouble).not.toBeNull()
    clock.move(1)
    expect(intake.trouble).toBeNull()
  })
})

describe('an offer that is given up', () => {
  test('before its claim leaves nothing, and nothing is said of it', async () => {
    const { intake, spool, offer, key, sent, claimed, trims, staged } = await setting()
    const stage = held(spool.stage)
    spool.stage = stage.step
    offer()
    expect([intake.drop(key), intake.count, intake.drop(key)]).toEqual(['dropped', 0, 'unknown'])
    stage.open()
    await waitUntil('it is over', () => trims.count)
    expect([sent, claimed, staged()]).toEqual([[], [], []])
  })

  test('and comes again meanwhile keeps its new place', async () => {
    const { intake, spool, offer, key, trims, claimed } = await setting()
    const [first, second] = [held(spool.stage), held(spool.stage)]
    spool.stage = first.step
    offer()
    intake.drop(key)
    spool.stage = second.step
    offer()
    first.open()
    await waitUntil('the first one is over', () => trims.count)
    expect([intake.count, claimed.length]).toEqual([1, 0])
    second.open()
    await waitUntil('the second one is taken', () => claimed.length)
  })

  test('during its claim is claimed all the same', async () => {
    const { intake, spool, offer, key, refusals, claimed, isOver } = await setting()
    const admit = held(spool.admit)
    spool.admit = admit.step
    offer()
    await waitUntil('it is being claimed', () => admit.called.count)
    expect(intake.drop(key)).toBe('claiming')
    intake.refuseAll('draining', 'the runner is stopping')
    intake.dropAll()
    expect([intake.count, refusals()]).toEqual([1, []])
    admit.open()
    await isOver()
    expect(claimed).toHaveLength(1)
  })

  test('with all others is refused, or goes without a word when the connection is lost', async () => {
    const { intake, spool, offer, sent, refusals } = await setting()
    const stage = held(spool.stage)
    spool.stage = stage.step
    for (let count = 0; count < 3; count += 1) offer(orderOf('0'.repeat(64)))
    intake.refuseAll('draining', 'the runner is stopping')
    expect([refusals(), intake.count]).toEqual([Array(3).fill(['draining', 'the runner is stopping']), 0])
    sent.length = 0
    offer()
    intake.dropAll()
    expect([sent, intake.count]).toEqual([[], 0])
    stage.open()
  })
})
