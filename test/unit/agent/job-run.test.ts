import { appendFileSync, rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { holdClock } from '../../agent/held-clock.js'
import { openFilesBelow } from '../../agent/open-files.js'
import { waitUntil } from '../../agent/waiting.js'
import { endOf, oneJob, STARTED } from './one-job.js'

describe('the looks at a job', () => {
  test('come soon at first, then less and less often, and at most every 200 ms', () => {
    const clock = holdClock({ timers: true })
    const { run, supervisor, write } = oneJob()
    write('started.json', STARTED)
    run.begin()
    for (const pause of [37.5, 56.25, 84.375, 126.5625, 189.84375, 200, 200]) {
      const before = supervisor.looks
      clock.move(pause - 0.1)
      expect(supervisor.looks).toBe(before)
      clock.move(0.1)
      expect(supervisor.looks).toBe(before + 1)
    }
    expect(clock.count()).toBe(1)
  })

  test('say that more can be sent when the job has printed something, and take their time then', () => {
    const clock = holdClock({ timers: true })
    const { run, told, supervisor, write, folder } = oneJob()
    write('started.json', STARTED)
    run.begin()
    expect(told).toEqual([])
    appendFileSync(folder.file('output.log'), 'text')
    clock.move(38)
    expect([told, supervisor.looks]).toEqual([['ready'], 2])
    clock.move(199)
    expect(supervisor.looks).toBe(2)
    clock.move(1)
    expect([told, supervisor.looks]).toEqual([['ready'], 3])
  })

  test('that gave no answer are repeated after a second; the log says once that they gave none', () => {
    const clock = holdClock({ timers: true })
    const { run, supervisor, write, said } = oneJob()
    supervisor.says = 'unknown'
    write('started.json', STARTED)
    run.begin()
    expect(run.trouble).toBe('started.json or the supervisor cannot be looked at')
    clock.move(999)
    expect(supervisor.looks).toBe(1)
    clock.move(1)
    clock.move(1000)
    expect([supervisor.looks, said('cannot look at a job'), said('can be looked at again')]).toEqual([3, 1, 0])
    supervisor.says = 'runs'
    clock.move(1000)
    expect([run.trouble, run.state]).toEqual([null, 'running'])
    clock.move(1000)
    expect([said('cannot look at a job'), said('can be looked at again')]).toEqual([1, 1])
  })

  test('that are asked for meanwhile take the place of the next one', () => {
    const clock = holdClock({ timers: true })
    const { run, write } = oneJob()
    write('started.json', STARTED)
    run.begin()
    run.begin()
    run.abort()
    expect(clock.count()).toBe(1)
  })
})

describe('a job of an earlier agent', () => {
  test('is found again as running only when its supervisor is', () => {
    const clock = holdClock({ timers: true })
    const { run, supervisor, said, write } = oneJob()
    supervisor.says = 'gone'
    write('started.json', STARTED)
    run.begin()
    expect([run.state, said('job found again')]).toEqual(['claimed', 1])
    supervisor.says = 'runs'
    clock.move(1000)
    expect([run.state, said('job found again')]).toEqual(['running', 1])
  })

  test('whose supervisor is gone is lost, and then has an end that is logged', async () => {
    const { run, supervisor, write, said, told } = oneJob()
    supervisor.says = 'gone'
    write('started.json', STARTED)
    run.begin()
    run.begin()
    expect(run.state).toBe('lost')
    await waitUntil('it has ended', () => run.state === 'ended')
    expect([said('job ended'), told]).toEqual([1, ['ended']])
  })

  test('that was never started ends without a word about a run', async () => {
    const { run, write, said, told } = oneJob()
    write('started.json', { ...STARTED, by: 'agent' })
    run.begin()
    run.begin()
    expect(run.state).toBe('claimed')
    await waitUntil('it has ended', () => run.state === 'ended')
    expect([said('job ended'), told]).toEqual([0, ['ended']])
  })

  test('that printed more while it was being ended has all of it sent', async () => {
    holdClock({ timers: true })
    const { run, supervisor, write, folder, told } = oneJob({
      releaseUser: () => {
        appendFileSync(folder.file('output.log'), 'the last words')
        return Promise.resolve([])
      },
    })
    supervisor.says = 'gone'
    write('started.json', STARTED)
    run.begin()
    run.begin()
    await waitUntil('it has ended', () => run.state === 'ended')
    told.length = 0
    expect(await run.replica.next(100, Buffer.alloc(100))).toMatchObject({
      kind: 'piece',
      payload: Buffer.from('the last words'),
      final: true,
    })
    // When a piece was read, the next one can be.
    expect(told).toEqual(['ready'])
    expect(await run.replica.next(100, Buffer.alloc(100))).toMatchObject({ kind: 'end' })
  })

  test('whose folder was removed is reported once, and is looked at no more', () => {
    const clock = holdClock({ timers: true })
    const { run, folder, told, supervisor, said } = oneJob()
    rmSync(folder.path, { recursive: true })
    run.begin()
    expect([run.state, told]).toEqual(['claimed', []])
    run.begin()
    expect([run.state, told, said('the job is lost')]).toEqual(['removed', ['removed'], 1])
    clock.move(10_000)
    run.begin()
    run.abort()
    expect([told, supervisor.looks, clock.count()]).toEqual([['removed'], 0, 0])
  })
})

describe('the end of a job', () => {
  test.each<[string, { bytes?: number; events?: number }, boolean]>([
    ['all', {}, false],
    ['all but a byte of output', { bytes: 1 }, true],
    ['all but one event', { events: 1 }, true],
  ])('with %s of it kept says so', (_, lost, isIncomplete) => {
    const { run, write, told, said } = oneJob()
    write('end.json', endOf('', lost))
    run.begin()
    expect(told).toEqual(isIncomplete ? ['incomplete', 'ended'] : ['ended'])
    expect(said('not all that the job printed was kept')).toBe(isIncomplete ? 1 : 0)
  })

  test('stops the looks at it', () => {
    const clock = holdClock({ timers: true })
    const { run, write, told } = oneJob()
    write('started.json', STARTED)
    run.begin()
    expect(clock.count()).toBe(1)
    write('end.json', endOf())
    run.begin()
    expect([run.state, clock.count(), told]).toEqual(['ended', 0, ['ended']])
  })

  test('takes away what kept it from going on', () => {
    const clock = holdClock({ timers: true })
    const { run, supervisor, write } = oneJob()
    supervisor.says = 'unknown'
    write('started.json', STARTED)
    run.begin()
    expect(run.trouble).not.toBeNull()
    write('end.json', endOf())
    clock.move(1000)
    expect([run.state, run.trouble]).toEqual(['ended', null])
  })
})

describe('a job that is to be forgotten', () => {
  test('is over at once when it has ended', () => {
    const { run, write, told, folder } = oneJob()
    write('end.json', endOf())
    run.begin()
    expect(run.forgotten).toBe(false)
    run.forget()
    expect([run.forgotten, told, folder.look('abort.json').kind]).toEqual([true, ['ended', 'ended'], 'absent'])
  })

  test('is ended when it runs', async () => {
    const { run, write, told, folder } = oneJob()
    write('started.json', STARTED)
    run.begin()
    run.forget()
    await waitUntil('it was asked to end', () => folder.look('abort.json').kind === 'present')
    expect([run.state, told]).toEqual(['running', []])
  })
})

describe('an agent that leaves a job', () => {
  test('waits for the step that is under way, and closes the files of the job', async () => {
    let release = (): void => undefined
    const held = new Promise<string[]>((resolve) => {
      release = () => {
        resolve([])
      }
    })
    let isUnderWay = false
    const releaseUser = (): Promise<string[]> => {
      isUnderWay = true
      return held
    }
    const { run, supervisor, write, parent } = oneJob({ releaseUser })
    supervisor.says = 'gone'
    write('started.json', STARTED)
    write('output.log', 'text')
    run.begin()
    expect(await run.replica.next(100, Buffer.alloc(100))).toMatchObject({ kind: 'piece', stream: 'output' })
    expect(openFilesBelow(parent)).toHaveLength(1)
    run.begin()
    await waitUntil('the step is under way', () => isUnderWay)
    let isDone = false
    const disposed = run.dispose().then(() => {
      isDone = true
    })
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    expect(isDone).toBe(false)
    release()
    await disposed
    expect(openFilesBelow(parent)).toEqual([])
  })

  test('begins no step any more', async () => {
    const { run, write, folder } = oneJob()
    write('started.json', STARTED)
    run.begin()
    run.abort()
    await run.dispose()
    expect(folder.look('abort.json').kind).toBe('absent')
  })
})
