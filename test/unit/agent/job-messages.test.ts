import type { ResumedJob } from '@holdfast/protocol'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createOwnership } from '../../../runner-agent/src/jobs/ownership.js'
import { type JobMessage, WorkMessages } from '../../../runner-agent/src/jobs/work-messages.js'
import { createSpoolLoading } from '../../../runner-agent/src/jobs/spool-loading.js'
import { createJobFolder, type JobFolder } from '../../../runner-agent/src/spool/job-folder.js'
import { orderOf } from '../../agent/playbooks.js'
import { waitUntil } from '../../agent/waiting.js'

/** What each message of the control plane does, to jobs that are in the spool and to those that are not. */
const REF = { job_id: 1, run_id: 'a'.repeat(32) }

/** @param isThere whether the job is in the spool @param dropped what the intake says of a job on its way there */
function setting({ isThere = true, dropped = ['unknown'], isCurrent = true, takesOver = true } = {}) {
  const calls: string[] = []
  const note =
    (name: string, answer?: unknown) =>
    (...given: unknown[]): unknown => {
      calls.push([name, ...given.filter((one) => typeof one !== 'object').map(String)].join(' '))
      return answer
    }
  const run = {
    folder: { key: { jobId: 1, runId: REF.run_id } },
    replica: {
      number: 1,
      acknowledge: note('acknowledge'),
      stopAt: note('stopAt'),
      rewind: note('rewind'),
      resume: note('resume'),
    },
    abort: note('abort'),
  }
  const answers = [...dropped]
  const at = {
    send: ({ type }: { type: string }) => note('send')(type),
    find: () => (isThere ? run : undefined),
    attach: note('attach'),
    sender: { wake: note('wake') },
    transfer: { gone: note('blob gone') },
    uploads: { gone: note('upload gone') },
    orphans: { answered: note('answered'), add: (_run: unknown, how = 'once') => note('orphan')(how) },
  }
  const messages = new WorkMessages({
    runs: { find: () => (isThere ? run : undefined), release: note('release'), forget: note('forget') },
    intake: {
      offer: note('offer'),
      drop: () => {
        calls.push('drop')
        return answers.shift() ?? 'unknown'
      },
      settled: () => Promise.resolve(note('settled')()),
    },
    ownership: {
      takeOver: () => (takesOver ? Promise.resolve(note('take over')()) : Promise.reject(new Error('EROFS'))),
    },
    log: pino({ level: 'silent' }),
    isCurrent: () => isCurrent,
  } as never)
  const take = (message: object) => {
    messages.take(message as JobMessage, at as never)
  }
  const resume = (job: Partial<ResumedJob>) => {
    take({ type: 'resume', jobs: [{ ...REF, output: 0, events: 0, abort: false, ...job }] })
  }
  return { calls, run, take, resume }
}

test.each<[string, object, string[], string[]]>([
  ['offer', { type: 'offer', order: REF }, ['send claimed'], ['offer']],
  [
    'blob_gone',
    { type: 'blob_gone', ...REF, sha256: 'h' },
    ['blob gone h', 'upload gone h'],
    ['blob gone h', 'upload gone h'],
  ],
  ['ack', { type: 'ack', job_id: 1, output: 3, events: 4 }, ['acknowledge', 'wake'], ['wake']],
  [
    'stream_full',
    { type: 'stream_full', job_id: 1, stream: 'output', length: 5 },
    ['stopAt output 5', 'wake'],
    ['wake'],
  ],
  ['rewind', { type: 'rewind', job_id: 1, stream: 'events', to: 2 }, ['rewind events 2', 'wake'], ['wake']],
  ['abort', { type: 'abort', ...REF }, ['abort'], ['drop', 'send unknown_job']],
  ['end_stored', { type: 'end_stored', ...REF }, ['release'], []],
  ['forget', { type: 'forget', ...REF }, ['forget'], ['drop']],
  ['adopt', { type: 'adopt', ...REF }, ['take over'], []],
])('%s is carried out for a job of the spool, and for another one', (_, message, ofSpool, ofOther) => {
  const there = setting()
  there.take(message)
  expect(there.calls).toEqual(ofSpool)
  const other = setting({ isThere: false })
  other.take(message)
  expect(other.calls).toEqual(ofOther)
})

describe('a job that is resumed', () => {
  test.each<[Partial<ResumedJob>, string[]]>([
    [{ verdict: 'unknown' }, ['orphan once']],
    [{ verdict: 'stored' }, ['release']],
    [{ verdict: 'forget' }, ['forget']],
    [{ verdict: 'continue' }, ['resume', 'attach']],
    [{ verdict: 'continue', abort: true }, ['resume', 'attach', 'abort']],
  ])('with %j is carried out', (job, expected) => {
    const { calls, resume } = setting()
    resume(job)
    expect(calls).toEqual([`answered ${REF.run_id}`, ...expected])
    const other = setting({ isThere: false })
    other.resume(job)
    expect(other.calls).toEqual([`answered ${REF.run_id}`])
  })

  test('has the number that the control plane gave it, or its own', () => {
    const { run, resume } = setting()
    resume({ verdict: 'continue', number: 77 })
    expect(run.replica.number).toBe(77)
    resume({ verdict: 'continue' })
    expect(run.replica.number).toBe(1)
  })
})

describe('an abort', () => {
  test('of an offer that is dropped is answered as of a job that is not there', () => {
    const { calls, take } = setting({ isThere: false, dropped: ['dropped'] })
    take({ type: 'abort', ...REF })
    expect(calls).toEqual(['drop', 'send unknown_job'])
  })

  test('of a job whose claim is being written waits until it is', async () => {
    const { calls, take } = setting({ isThere: false, dropped: ['claiming', 'unknown'] })
    take({ type: 'abort', ...REF })
    expect(calls).toEqual(['drop', 'settled'])
    await waitUntil('it is tried again', () => calls.length > 3)
    expect(calls).toEqual(['drop', 'settled', 'drop', 'send unknown_job'])
  })
})

test.each<[string, object, string[]]>([
  ['over this connection', {}, ['take over', 'orphan anew']],
  ['over a connection that is lost by then', { isCurrent: false }, ['take over']],
  ['and cannot be noted', { takesOver: false }, []],
])('a job that is taken over %s is described again or not', async (_, given, expected) => {
  const { calls, take } = setting(given)
  take({ type: 'adopt', ...REF })
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  expect(calls).toEqual(expected)
})

describe('the control plane that a job belongs to', () => {
  const [MINE, THEIRS] = ['a', 'b'].map((letter) => `SHA256:${letter.repeat(43)}`) as [string, string]

  function jobOf(service: string): JobFolder {
    const parent = mkdtempSync(join(tmpdir(), 'holdfast-owner-'))
    onTestFinished(() => {
      rmSync(parent, { recursive: true })
    })
    const order = orderOf('0'.repeat(64))
    const folder = createJobFolder(join(parent, 'job'), { jobId: order.job_id, runId: order.run_id })
    mkdirSync(folder.path)
    const claim = { order, claimed_at: '2026-11-20T08:00:00.000Z', boot_id: 'this boot', service }
    writeFileSync(folder.file('claim.json'), JSON.stringify(claim))
    return folder
  }

  const ownershipAt = (atHand: string | null) =>
    createOwnership({ atHand, owns: (fingerprint) => fingerprint === MINE })

  test('is the one that it was claimed from', () => {
    const ownership = ownershipAt(MINE)
    expect(ownership.atHand()).toBe(MINE)
    expect(() => ownershipAt(null).atHand()).toThrow('no control plane has been met yet')
    expect(ownership.foreignService(jobOf(MINE))).toBeNull()
    expect(ownership.foreignService(jobOf(THEIRS))).toBe(THEIRS)
  })

  test('is the one that took it over, for this agent and for the next', async () => {
    const folder = jobOf(THEIRS)
    const ownership = ownershipAt(MINE)
    expect(ownership.foreignService(folder)).toBe(THEIRS)
    await ownership.takeOver(folder)
    expect(ownership.foreignService(folder)).toBeNull()
    expect(ownershipAt(MINE).foreignService(folder)).toBeNull()
    const nobody = jobOf(THEIRS)
    await ownershipAt(null).takeOver(nobody)
    expect(nobody.owner().kind).toBe('absent')
  })

  test('is not known while its folder cannot be read, and is read once', () => {
    const ownership = ownershipAt(MINE)
    const folder = jobOf(THEIRS)
    writeFileSync(folder.file('owner.json'), '{"service":')
    expect(ownership.foreignService(folder)).toBeNull()
    rmSync(folder.file('owner.json'))
    expect(ownership.foreignService(folder)).toBe(THEIRS)
    rmSync(folder.file('claim.json'))
    expect(ownership.foreignService(folder)).toBe(THEIRS)
    ownership.forget(folder)
    expect(ownership.foreignService(folder)).toBeNull()
  })
})

test('the list of jobs is read until that succeeds, or until the agent ends', async () => {
  let tries = 0
  const log = pino({ level: 'silent' })
  const load = (): Promise<void> => {
    tries += 1
    return tries < 2 ? Promise.reject(new Error('EIO')) : Promise.resolve()
  }
  const loading = createSpoolLoading({ load }, log)
  expect(loading.problem).toBeNull()
  const loaded = loading.load(() => false)
  await waitUntil('the first try failed', () => loading.problem)
  expect(loading.problem).toBe('the spool cannot be read: EIO')
  await loaded
  expect([tries, loading.problem]).toEqual([2, null])
  await createSpoolLoading({ load: () => Promise.reject(new Error('EIO')) }, log).load(() => true)
})
