import type { AgentMessage } from '@holdfast/protocol'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { JobRun } from '../../../runner-agent/src/jobs/job-run.js'
import { createSession, type SessionPort } from '../../../runner-agent/src/jobs/session.js'
import { Replica } from '../../../runner-agent/src/spool/replica.js'
import type { StreamFile } from '../../../runner-agent/src/spool/stream-file.js'
import { holdClock } from '../../agent/held-clock.js'
import { waitUntil } from '../../agent/waiting.js'
import { errorOf } from './one-job.js'

/** A connection, and jobs that have printed something each. */
function setting() {
  const sent: AgentMessage[] = []
  const pieces: number[] = []
  const closes: string[] = []
  const logged: string[] = []
  const disk = { error: null as Error | null }
  const port: SessionPort = {
    open: true,
    bufferedBytes: () => 0,
    send: (message) => void sent.push(message),
    sendFrame: ({ jobId }, flushed) => {
      pieces.push(jobId)
      flushed()
    },
    close: (reason, text) => void closes.push(`${reason} ${text}`),
  }
  const session = createSession(port, {
    cache: {} as never,
    log: pino({ level: 'info' }, { write: (line) => void logged.push(line) }),
    ownership: { foreignService: () => null } as never,
  })
  const job = (jobId: number): JobRun => {
    const text = Buffer.from('text')
    const file: StreamFile = {
      size: () => 4,
      read: (offset, into) =>
        disk.error === null
          ? Promise.resolve(into.subarray(0, text.copy(into, 0, offset)))
          : Promise.reject(disk.error),
      close: () => Promise.resolve(),
    }
    const key = { jobId, runId: String(jobId).repeat(32) }
    const nothing = (): void => undefined
    const replica = new Replica(
      key,
      { output: file, events: { ...file, size: () => 0 } },
      { doubt: nothing, ready: nothing },
    )
    replica.look()
    return { replica } as unknown as JobRun
  }
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  }
  return { session, sent, pieces, closes, logged, disk, job, turns }
}

describe('a job of a connection', () => {
  test('is found by the number that the control plane gave it, as long as it belongs to it', async () => {
    const { session, pieces, job } = setting()
    const one = job(1)
    one.replica.number = 77
    session.attach(one)
    expect([session.find(77), session.find(1)]).toEqual([one, undefined])
    await waitUntil('it is sent', () => pieces.length > 0)
    expect([pieces, session.sender.unacknowledged()]).toEqual([[77], 4])
    session.detach(one)
    expect([session.find(77), session.sender.unacknowledged()]).toEqual([undefined, 0])
  })

  test('that leaves does not take the number from the one that has it now', () => {
    const { session, job } = setting()
    const [one, two] = [job(1), job(1)]
    session.attach(one)
    session.attach(two)
    session.detach(one)
    expect(session.find(1)).toBe(two)
  })

  test('whose streams cannot be read is tried again after five seconds', async () => {
    const clock = holdClock({ timers: true })
    const { session, pieces, logged, disk, job, turns } = setting()
    disk.error = errorOf('EIO')
    session.attach(job(1))
    await waitUntil('it is logged', () => logged.length > 0)
    expect([logged.length, session.sender.unacknowledged()]).toEqual([1, 0])
    disk.error = null
    clock.move(4_999)
    await turns()
    expect(pieces).toEqual([])
    clock.move(1)
    await waitUntil('it is sent', () => pieces.length > 0)
  })

  test.each<[string, (setting: ReturnType<typeof withOne>) => void]>([
    ['has left', ({ session, one }) => session.detach(one)],
    ['is on a closed connection', ({ session }) => session.close()],
  ])('that %s by then is not', async (_, act) => {
    const clock = holdClock({ timers: true })
    const set = withOne()
    set.disk.error = errorOf('EIO')
    set.session.attach(set.one)
    await waitUntil('it is logged', () => set.logged.length > 0)
    set.disk.error = null
    act(set)
    clock.move(5_000)
    await set.turns()
    expect([set.pieces, set.session.find(1)]).toEqual([[], undefined])
  })
})

function withOne() {
  const set = setting()
  return { ...set, one: set.job(1) }
}

test('a session hands on what is sent, and asks for the next connection', () => {
  const { session, sent, closes } = setting()
  const message = { type: 'unknown_job', job_id: 1, run_id: 'r' } as const
  session.send(message)
  session.reconnect('why not')
  expect([sent, closes]).toEqual([[message], ['going_away why not']])
})

test('nothing is waited for over a connection that is over', () => {
  const clock = holdClock({ timers: true })
  const { session } = setting()
  expect([clock.count() > 0, session.uploads.isOver]).toEqual([true, false])
  session.close()
  expect([clock.count(), session.uploads.isOver]).toEqual([0, true])
})
