import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { identifyProcess } from '../../../runner-agent/src/host/processes.js'
import { ABORT_TIMEOUTS } from '../../../runner-agent/src/jobs/decide.js'
import type { JobRunServices } from '../../../runner-agent/src/jobs/job-run.js'
import { holdClock } from '../../agent/held-clock.js'
import { orderOf } from '../../agent/playbooks.js'
import { waitUntil } from '../../agent/waiting.js'
import { waitFor } from '../../support/wait.js'
import { holdPauses } from './held-pauses.js'
import { errorOf, oneJob, STARTED, stubborn } from './one-job.js'

/** Lets what was begun go on as far as it can without the system. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
}

/** A job of an earlier agent that is asked to end, and how often the agent has told its supervisor since. */
function abortedJob(started: object) {
  const clock = holdClock({ timers: true, performance: true })
  const tells = { count: 0 }
  const now = (): Date => {
    tells.count += 1
    return new Date()
  }
  const job = oneJob({ now })
  job.write('started.json', started)
  job.write('abort.json', '')
  /** How much time passes until that is so, in steps of half a second. */
  const timeUntil = async (what: string, look: () => boolean): Promise<number> => {
    let time = 0
    const isSo = (): boolean => {
      if (look()) return true
      clock.move(500)
      time += 500
      return false
    }
    await waitFor(what, isSo, { everyMs: 1 })
    return time
  }
  return { ...job, clock, tells, timeUntil }
}

describe('an abort', () => {
  test('is told to the supervisor once, and again only after five seconds', async () => {
    const { started } = await stubborn()
    const { run, tells, timeUntil } = abortedJob(started)
    run.begin()
    await turns()
    expect(tells.count).toBe(1)
    expect(await timeUntil('it is told again', () => tells.count > 1)).toBeGreaterThanOrEqual(5_000)
    await turns()
    // A person who asks again has it told again at once.
    run.abort()
    await turns()
    expect(tells.count).toBe(3)
  })

  test('that could not be told is told at each look', async () => {
    const { run, tells, timeUntil } = abortedJob(STARTED)
    run.begin()
    await turns()
    expect(tells.count).toBe(1)
    expect(await timeUntil('it is told again', () => tells.count > 1)).toBeLessThan(5_000)
  })

  test('that an earlier agent has noted goes on, and ends the supervisor', async () => {
    const child = spawn('sleep', ['600'], { stdio: 'ignore' })
    onTestFinished(() => void child.kill('SIGKILL'))
    const { run } = abortedJob({ ...identifyProcess(child.pid ?? 0), time: '' })
    run.begin()
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
  })

  test('that the supervisor does not carry out is carried out by force, and again only after ten seconds', async () => {
    const { started } = await stubborn()
    const { run, said, timeUntil } = abortedJob(started)
    const forced = (times: number) => () => said('does not end the job') === times
    run.begin()
    await turns()
    expect(await timeUntil('it is forced', forced(1))).toBeGreaterThanOrEqual(ABORT_TIMEOUTS.processesMs)
    expect(await timeUntil('it is forced again', forced(2))).toBeGreaterThanOrEqual(10_000)
    expect(said('processes of a job cannot be ended')).toBe(0)
  })
})

const CLAIM = {
  order: { ...orderOf('0'.repeat(64)), run_id: 'a'.repeat(32) },
  claimed_at: '',
  boot_id: 'this boot',
  service: `SHA256:${'a'.repeat(43)}`,
}

function signalQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

/** A claimed job. Its supervisor is a shell that does this in the folder of the job. */
function claimedJob(commands: string, change: Partial<JobRunServices> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-shells-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
  // As Python does, it takes the options -I and -S, its script and the folder of the job.
  const python = join(folder, 'shell')
  writeFileSync(python, `#!/bin/sh\ncd "$4" || exit 3\n${commands}\n`, { mode: 0o755 })
  const program = join(folder, 'ansible-playbook')
  writeFileSync(program, '', { mode: 0o755 })
  const job = oneJob(
    { supervisor: { python, script: 'none' }, ...change },
    (one) => one,
    `${folder}:${process.env['PATH'] ?? ''}`,
  )
  writeFileSync(join(job.parent, 'site.yml'), '[]')
  job.write('claim.json', CLAIM)
  onTestFinished(() => {
    const started = job.folder.started()
    if (started.kind === 'present' && started.content.by !== 'agent') signalQuietly(started.content.pid)
  })
  return job
}

describe('a claimed job', () => {
  test('is started, and runs when its supervisor says so', async () => {
    const { run, said } = claimedJob(
      `printf '{"pid":%d,"start_ticks":1,"boot_id":"this boot","time":""}' $$ > new; mv new started.json; exec sleep 600`,
    )
    run.begin()
    expect(run.state).toBe('claimed')
    await waitUntil('it is starting', () => run.state !== 'claimed')
    await waitUntil('it runs', () => run.state === 'running')
    // It is no job of an earlier agent.
    expect(said('job found again')).toBe(0)
  })

  test('whose supervisor could not begin is started again after a second; the log says why, once', async () => {
    const clock = holdClock({ timers: true })
    const { run, said, folder } = claimedJob('echo "no room" ; echo >> tries; exit 18')
    const tries = () => readFileSync(join(folder.path, 'tries')).length
    run.begin()
    await waitUntil('it was tried', () => run.trouble)
    expect([run.trouble, run.state, tries()]).toEqual(['the supervisor ended with 18: no room', 'starting', 1])
    expect(said('cannot be started yet')).toBe(1)
    clock.move(999)
    await turns()
    expect(tries()).toBe(1)
    clock.move(1)
    await waitUntil('it is tried again', () => tries() === 2)
    await waitFor('it is tried once more', () => {
      clock.move(1000)
      return tries() >= 3
    })
    // What the second try said was logged by the time of the third one.
    expect(said('cannot be started yet')).toBe(1)
  })

  test('whose supervisor failed otherwise ends with the reason', async () => {
    const { run, folder } = claimedJob('echo "no such thing"; exit 3')
    run.begin()
    await waitUntil('it has ended', () => run.state === 'ended')
    expect(folder.end()).toMatchObject({
      content: { cause: 'not_started', message: 'the supervisor ended with 3: no such thing' },
    })
  })

  test('whose supervisor cannot be told of an abort yet is told as soon as it can', async () => {
    const { run, folder } = claimedJob(
      `for turn in $(seq 3000); do [ -e abort.json ] && break; sleep 0.01; done
       trap 'touch exit.json; exit 0' TERM
       ticks=$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20)
       printf '{"pid":%d,"start_ticks":%d,"boot_id":"%s","time":""}' $$ "$ticks" "$(cat /proc/sys/kernel/random/boot_id)" > new
       mv new started.json
       for turn in $(seq 3000); do sleep 0.01; done`,
    )
    run.begin()
    await waitUntil('it is starting', () => run.state !== 'claimed')
    run.abort()
    await waitUntil('its supervisor has heard of it', () => folder.look('exit.json').kind === 'present')
  })

  test('that cannot be started at all ends with the reason', async () => {
    const { run, folder } = claimedJob('exit 3', {
      openSecrets: () => {
        throw new Error('the key is another one')
      },
    })
    run.begin()
    await waitUntil('it has ended', () => run.state === 'ended')
    expect(folder.end()).toMatchObject({
      content: { cause: 'not_started', message: 'the start failed: the key is another one' },
    })
  })

  test('that somebody else starts at the last moment is followed', async () => {
    const job = oneJob({
      now: () => {
        job.write('started.json', STARTED)
        return new Date()
      },
    })
    job.write('abort.json', '')
    job.run.begin()
    await waitUntil('it was found running', () => job.run.state === 'running')
    expect([job.told, job.folder.end().kind]).toEqual([[], 'absent'])
  })
})

describe('a step that failed', () => {
  test('is tried again after a pause of a second, and not before', async () => {
    const pauses = holdPauses(1000)
    const clock = holdClock({ timers: true })
    let tries = 0
    const { run, said } = claimedJob('exit 3', {
      openSecrets: () => {
        tries += 1
        throw errorOf('EMFILE')
      },
    })
    run.begin()
    await waitUntil('it has failed', () => pauses.count() === 1)
    expect([tries, said('a step of a job failed')]).toEqual([1, 1])
    // An agent that ends does not wait for that.
    expect(pauses.areWaitedFor()).toBe(false)
    expect(run.trouble).toBe('start: EMFILE: the system says no')
    clock.move(5_000)
    await turns()
    expect(tries).toBe(1)
    pauses.end()
    await turns()
    clock.move(1_000)
    await turns()
    expect(tries).toBe(2)
  })

  test('counts no more once a step has succeeded', async () => {
    const pauses = holdPauses(1000)
    const clock = holdClock({ timers: true })
    let tries = 0
    // The tenth try starts a supervisor, which could not begin.
    const openSecrets = (): null => {
      tries += 1
      if (tries !== 10) throw errorOf('EROFS')
      return null
    }
    const { run } = claimedJob('exit 18', { openSecrets, giveUp: () => Promise.resolve() })
    run.begin()
    for (let failed = 1; failed <= 18; failed += 1) {
      await waitFor(`failure ${failed}`, () => {
        clock.move(1_000)
        return pauses.count() === failed
      })
      pauses.end()
      await turns()
    }
    expect([run.state, tries]).toEqual(['starting', 19])
  })

  /** Lets a job try so often. @returns the cause of its end; null: it was not given up */
  async function tries(most: number, fail: () => void, isAborted = false): Promise<string | null> {
    const pauses = holdPauses(1000)
    const clock = holdClock({ timers: true })
    let isGivenUp = false
    const now = (): Date => {
      if (!isGivenUp) fail()
      return new Date()
    }
    const giveUp = (): Promise<void> => {
      isGivenUp = true
      return Promise.resolve()
    }
    const { run } = oneJob({ now, giveUp })
    run.begin()
    if (isAborted) run.abort()
    run.begin()
    for (let failed = 1; failed <= most; failed += 1) {
      await waitUntil(`failure ${failed}`, () => pauses.count() === failed)
      pauses.end()
      await turns()
      clock.move(2_000)
    }
    if (pauses.count() > most) return null
    await waitUntil('another failure, or the end', () => run.state === 'ended' || pauses.count() > most)
    if (run.state !== 'ended') return null
    const end = await run.replica.next(100, Buffer.alloc(100))
    return end?.kind === 'end' ? end.record.cause : null
  }

  test.each([
    ['a read-only disk', 'EROFS', false, 'not_started'],
    ['a read-only disk, and somebody wants its end', 'EROFS', true, 'aborted'],
    ['a disk that does not answer', 'EIO', false, null],
    ['a disk that does not answer, and somebody wants its end', 'EIO', true, 'aborted'],
  ])('ten times because of %s may end the job', async (_, code, isAborted, expected) => {
    const fail = (): void => {
      throw errorOf(code)
    }
    expect(await tries(10, fail, isAborted)).toBe(expected)
  })
})
