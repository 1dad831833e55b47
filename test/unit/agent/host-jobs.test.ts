import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AgentMessage } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import type { HostJobsDependencies } from '../../../runner-agent/src/jobs/host-jobs.js'
import type { SessionPort } from '../../../runner-agent/src/jobs/session.js'
import { holdClock } from '../../agent/held-clock.js'
import { orderOf } from '../../agent/playbooks.js'
import { waitUntil } from '../../agent/waiting.js'
import { findJob, FOUND_JOB } from './found-job.js'
import { endOf } from './one-job.js'

/** A connection that keeps what goes over it. */
function port() {
  const sent: AgentMessage[] = []
  const pieces: string[] = []
  const closes: string[] = []
  const kept: SessionPort = {
    open: true,
    bufferedBytes: () => 0,
    send: (message) => void sent.push(message),
    sendFrame: (frame, flushed) => {
      pieces.push(`${frame.stream} of ${frame.jobId}`)
      flushed()
    },
    close: (reason, text) => void closes.push(`${reason}: ${text}`),
  }
  const has = (type: AgentMessage['type']) => waitUntil(`${type} is sent`, () => sent.find((one) => one.type === type))
  const count = (type: AgentMessage['type']) => sent.filter((one) => one.type === type).length
  return { kept, sent, pieces, closes, has, count }
}

const RUNS = { look: () => 'runs' as const, lookAtTorn: () => 'runs' as const }

/** A host with one job, which still runs. @param change what else is as the test wants it */
async function running(change: Partial<HostJobsDependencies> = {}) {
  const removed: string[] = []
  const sockets = {
    folderOf: () => '/none',
    remove: (runId: string) => Promise.resolve(void removed.push(`sockets ${runId}`)),
  }
  const found = await findJob('text', {
    supervisors: RUNS,
    playbook: { localFolder: '/none', pythonProblem: 'this host has no Python', sockets } as never,
    removeContainer: (runId) => Promise.resolve(void removed.push(`container ${runId}`)),
    ...change,
  })
  const end = (lost: { bytes?: number } = {}): void => {
    writeFileSync(join(found.folder, 'end.json'), JSON.stringify(endOf('text', lost)))
  }
  return { ...found, removed, end }
}

describe('a control plane that accepts this runner', () => {
  test('hears of every job in the spool, and of those of another control plane whose they are', async () => {
    const { jobs, wait } = await running()
    const one = port()
    expect(jobs.figures().runningJobs).toBe(0)
    jobs.connected(one.kept)
    expect([wait.isOver, jobs.figures().runningJobs]).toEqual([true, 1])
    expect(await one.has('inventory')).toEqual({
      type: 'inventory',
      jobs: [{ ...FOUND_JOB, output: 4, events: 0, ended: false }],
    })
    const foreign = await running({
      ownership: {
        atHand: () => `SHA256:${'a'.repeat(43)}`,
        foreignService: () => 'theirs',
        forget: () => undefined,
      } as never,
    })
    foreign.end()
    const other = port()
    foreign.jobs.connected(other.kept)
    expect(await other.has('inventory')).toMatchObject({ jobs: [{ ...FOUND_JOB, ended: true, service: 'theirs' }] })
  })

  test('and is lost at once hears nothing; the next one does', async () => {
    const { jobs } = await running()
    const [first, second] = [port(), port()]
    jobs.connected(first.kept)
    jobs.disconnected()
    jobs.take({ type: 'forget', ...FOUND_JOB })
    jobs.takeBlob({ kind: 'blob', sha256: '0'.repeat(64), offset: 0, size: 1, payload: Buffer.alloc(1) } as never)
    jobs.connected(second.kept)
    await second.has('inventory')
    expect([first.sent, jobs.figures().spooledJobs]).toEqual([[], 1])
  })
})

describe('the figures of a host', () => {
  test('have the limit of the admin, or else its own', async () => {
    let changes = 0
    const { jobs } = await running({ ownMaxJobs: 3, changed: () => (changes += 1) })
    expect(jobs.figures().maxJobs).toBe(3)
    jobs.limit(5)
    expect([jobs.figures().maxJobs, changes]).toEqual([5, 1])
    jobs.limit(0)
    expect(jobs.figures().maxJobs).toBe(0)
    jobs.limit(null)
    expect(jobs.figures().maxJobs).toBe(3)
  })

  test('say that it drains when it does, or when it waits for a person', async () => {
    let changes = 0
    let problem: string | null = null
    const { jobs } = await running({ changed: () => (changes += 1), problem: () => problem })
    expect(jobs.figures().draining).toBe(false)
    problem = 'no Python'
    expect(jobs.figures().draining).toBe(true)
    problem = null
    jobs.drain()
    expect([jobs.figures().draining, changes]).toEqual([true, 1])
  })

  test('count running jobs, bytes, and ends that lack something', async () => {
    const { jobs, end } = await running()
    jobs.connected(port().kept)
    expect(jobs.figures()).toMatchObject({
      runningJobs: 1,
      spooledJobs: 1,
      spoolBytes: 4,
      incompleteJobs: 0,
      trouble: null,
    })
    end({ bytes: 3 })
    await waitUntil('it has ended', () => jobs.figures().runningJobs === 0)
    expect(jobs.figures()).toMatchObject({ spooledJobs: 1, spoolBytes: 4, incompleteJobs: 1, trouble: null })
  })

  test('name a job that cannot be looked at', async () => {
    const unknown = { look: () => 'unknown' as const, lookAtTorn: () => 'unknown' as const }
    const { jobs } = await running({ supervisors: unknown })
    jobs.connected(port().kept)
    expect(jobs.figures().trouble).toBe('job 1: started.json or the supervisor cannot be looked at')
  })
})

describe('a job leaves the spool', () => {
  test('with all that belongs to it when it has ended and its end is stored', async () => {
    const forgotten: string[] = []
    const ownership = {
      atHand: () => `SHA256:${'a'.repeat(43)}`,
      foreignService: () => null,
      forget: () => void forgotten.push('owner'),
    } as never
    const { jobs, end, folder, removed } = await running({ ownership })
    const one = port()
    jobs.connected(one.kept)
    jobs.take({ type: 'resume', jobs: [{ ...FOUND_JOB, verdict: 'continue', output: 0, events: 0, abort: false }] })
    await waitUntil('its output is sent', () => one.pieces.length > 0)
    expect(jobs.figures().unacknowledgedBytes).toBe(4)
    jobs.take({ type: 'end_stored', ...FOUND_JOB })
    // It still runs here, so it goes on and stays. Nothing of it is sent any more.
    expect(jobs.figures()).toMatchObject({ spooledJobs: 1, runningJobs: 1, unacknowledgedBytes: 0 })
    expect(existsSync(join(folder, 'abort.json'))).toBe(false)
    end()
    await waitUntil('it has left', () => jobs.figures().spooledJobs === 0)
    await waitUntil('its folder is gone', () => !existsSync(folder))
    expect([removed, forgotten, one.count('unknown_job')]).toEqual([
      [`sockets ${FOUND_JOB.run_id}`, `container ${FOUND_JOB.run_id}`],
      ['owner'],
      0,
    ])
  })

  test('when a person had it forgotten: it is ended first, and the control plane hears that it is gone', async () => {
    const { jobs, end, folder } = await running()
    const one = port()
    jobs.connected(one.kept)
    jobs.take({ type: 'resume', jobs: [{ ...FOUND_JOB, verdict: 'continue', output: 0, events: 0, abort: false }] })
    await waitUntil('its output is sent', () => one.pieces.length > 0)
    expect(jobs.figures().unacknowledgedBytes).toBe(4)
    jobs.take({ type: 'forget', ...FOUND_JOB })
    expect([jobs.figures().spooledJobs, jobs.figures().unacknowledgedBytes]).toEqual([1, 0])
    await waitUntil('it is to end', () => existsSync(join(folder, 'abort.json')))
    expect(one.count('unknown_job')).toBe(0)
    end()
    expect(await one.has('unknown_job')).toEqual({ type: 'unknown_job', ...FOUND_JOB })
    expect([jobs.figures().spooledJobs, one.count('end'), one.closes]).toEqual([0, 0, []])
  })

  test('when its folder was removed by hand: the next connection tells the control plane', async () => {
    const { jobs, folder } = await running({ supervisors: { look: () => 'gone', lookAtTorn: () => 'gone' } })
    rmSync(folder, { recursive: true })
    const one = port()
    jobs.connected(one.kept)
    await waitUntil('it has left', () => jobs.figures().spooledJobs === 0)
    expect(one.closes).toEqual(['going_away: a job was removed from the spool by hand'])
  })
})

describe('a job that the control plane does not know', () => {
  test('is described again when it ends', async () => {
    const { jobs, end } = await running()
    const one = port()
    jobs.connected(one.kept)
    jobs.take({ type: 'resume', jobs: [{ ...FOUND_JOB, verdict: 'unknown', output: 0, events: 0, abort: false }] })
    expect(await one.has('orphan')).toMatchObject({ ...FOUND_JOB, ended: false })
    jobs.take({ type: 'resume', jobs: [{ ...FOUND_JOB, verdict: 'unknown', output: 0, events: 0, abort: false }] })
    end()
    await waitUntil('it is described as ended', () => one.sent.some((sent) => sent.type === 'orphan' && sent.ended))
    expect(jobs.figures().spooledJobs).toBe(1)
  })
})

describe('a running job', () => {
  test('sends what it prints, and its end, as soon as they are there', async () => {
    const { jobs, end } = await running()
    const one = port()
    jobs.connected(one.kept)
    jobs.take({ type: 'resume', jobs: [{ ...FOUND_JOB, verdict: 'continue', output: 0, events: 0, abort: false }] })
    await waitUntil('its output is sent', () => one.pieces.length > 0)
    expect(one.pieces).toEqual(['output of 1'])
    end()
    await one.has('end')
    jobs.take({ type: 'end_stored', ...FOUND_JOB })
    expect(jobs.figures().spooledJobs).toBe(0)
  })

  test('is aborted with all others, also before anything was decided about it', async () => {
    const { jobs, folder, wait } = await running()
    jobs.abortAll()
    expect(wait.isOver).toBe(true)
    await waitUntil('it is to end', () => existsSync(join(folder, 'abort.json')))
  })
})

describe('an offer', () => {
  const cache = {
    hold: () => () => undefined,
    has: () => Promise.resolve(true),
    trim: () => Promise.resolve(),
  } as never
  const order = () => orderOf('0'.repeat(64), { job_id: 77 })

  test('becomes a job of the spool, which goes to the control plane', async () => {
    const { jobs } = await running({ cache })
    const one = port()
    jobs.connected(one.kept)
    const offered = order()
    jobs.take({ type: 'offer', order: offered })
    const ref = { job_id: 77, run_id: offered.run_id }
    expect(await one.has('claimed')).toEqual({ type: 'claimed', ...ref })
    expect(await one.has('end')).toMatchObject({
      job_id: 77,
      record: { cause: 'not_started', message: 'this host has no Python' },
    })
    jobs.take({ type: 'offer', order: offered })
    expect([one.count('claimed'), jobs.figures().spooledJobs]).toEqual([2, 2])
  })

  test('that is claimed while all jobs are aborted is aborted, too', async () => {
    const { jobs } = await running({ cache })
    const one = port()
    jobs.connected(one.kept)
    jobs.take({ type: 'offer', order: order() })
    jobs.abortAll()
    expect(await one.has('end')).toMatchObject({ job_id: 77, record: { cause: 'aborted' } })
  })

  test('is refused while the host drains, and when all slots are taken', async () => {
    const { jobs } = await running({ cache, ownMaxJobs: 1 })
    const one = port()
    jobs.connected(one.kept)
    jobs.take({ type: 'offer', order: order() })
    expect(await one.has('refused')).toMatchObject({ code: 'busy', message: '1 jobs run already' })
    jobs.limit(2)
    jobs.take({ type: 'offer', order: order() })
    jobs.drain()
    await waitUntil('it is refused', () => one.count('refused') === 2)
    expect([one.sent.at(-1), jobs.figures().spooledJobs]).toMatchObject([{ code: 'draining' }, 1])
  })

  test('of a lost connection is given up without a word', async () => {
    const { jobs } = await running({ cache })
    const [one, two] = [port(), port()]
    jobs.connected(one.kept)
    jobs.take({ type: 'offer', order: order() })
    jobs.disconnected()
    jobs.connected(two.kept)
    expect(await two.has('inventory')).toMatchObject({ jobs: [FOUND_JOB] })
    expect([one.count('claimed'), one.count('refused')]).toEqual([0, 0])
  })
})

test('a host without jobs waits for nothing', async () => {
  const { jobs, waits, folder } = await running()
  expect(waits).toHaveLength(1)
  rmSync(folder, { recursive: true })
  mkdirSync(dirname(folder), { recursive: true })
  await jobs.load()
  expect(waits).toHaveLength(1)
})

test('an agent that ends waits for nothing any more', async () => {
  const { jobs, wait, hasEnd } = await running()
  await jobs.dispose()
  expect([wait.isOver, hasEnd()]).toEqual([true, false])
})

test('an agent that ends looks at its jobs no more', async () => {
  const clock = holdClock({ timers: true })
  const { jobs } = await running()
  const before = clock.count()
  jobs.connected(port().kept)
  jobs.disconnected()
  expect(clock.count()).toBe(before + 1)
  await jobs.dispose()
  expect(clock.count()).toBe(before)
})
