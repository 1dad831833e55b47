import { describe, expect, test } from 'vitest'
import { RefusedError, UnreachableError } from '../../../control-plane/src/cli/errors.js'
import { type FollowEnd, followJob } from '../../../control-plane/src/cli/follow/follow-job.js'
import { waitFor } from '../../support/wait.js'
import { holdDelays } from './held-delays.js'
import { jobAtService, keptSink } from './job-at-service.js'

const AWAY = new UnreachableError('It is away.')
const GONE = new RefusedError('There is no job 7.', 404, null)

/** Follows the job of a control plane. */
function follow(first: object = {}, until: FollowEnd = 'any') {
  const { service, client } = jobAtService(first)
  const { told, sink } = keptSink()
  const stop = new AbortController()
  /** Until nothing more is asked for, however often everything runs that waits for nothing else. */
  const quiet = async () => {
    for (let before = -1; before !== service.asked.length;) {
      before = service.asked.length
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return {
    quiet,
    service,
    told,
    stop,
    begin: () => followJob(client, 7, sink, until, stop.signal),
    tells: (text: string) => waitFor(`${text} after ${told.join('; ')}`, () => told.includes(text)),
    /** Waits until everything was read once more. */
    async readsAgain() {
      const before = service.asked.length
      service.change()
      await waitFor('two requests more', () => service.asked.length >= before + 2)
      await quiet()
    },
  }
}

describe('a job that is followed', () => {
  test('tells each status once, each byte once, how long it takes, and how it ended', async () => {
    const { service, told, begin, tells, readsAgain } = follow({ estimate: { left_seconds: 9 } })
    Object.assign(service, { output: 'one two', pieceBytes: 4 })
    const ended = begin()
    await tells('9 s left')
    expect(told.slice(0, 4)).toEqual(['running', '0: one ', '4: two', '9 s left'])
    expect(service.asked.slice(0, 4)).toEqual([{ id: 7, text: true, output: false }, 0, 4, 7])
    await readsAgain()
    service.output += ' three'
    service.change({ status: 'success', estimate: null })
    expect(await ended).toMatchObject({ id: 7, status: 'success' })
    expect(told.filter((text) => text !== '9 s left')).toEqual([
      'running',
      '0: one ',
      '4: two',
      'success',
      '7:  thr',
      '11: ee',
    ])
    expect(told.at(-1)).toBe('11: ee')
    expect(service.openStreams()).toBe(0)
  })

  test('tells that the next step waits for an approval, and not each step that runs', async () => {
    const { service, told, begin, tells, readsAgain } = follow({ status: 'approve', step: 'first' })
    const ended = begin()
    await tells('approve first')
    await readsAgain()
    service.change({ step: 'second' })
    await tells('approve second')
    service.change({ status: 'running' })
    await tells('running second')
    service.change({ step: 'third' })
    await readsAgain()
    service.change({ status: 'failed' })
    await ended
    expect(told).toEqual(['approve first', 'approve second', 'running second', 'failed third'])
  })

  test('that is given up has ended, except for who waits for its real outcome', async () => {
    expect(await follow({ status: 'abandoned' }).begin()).toMatchObject({ status: 'abandoned' })
    const { service, told, begin, tells } = follow({ status: 'abandoned' }, 'real')
    const ended = begin()
    await tells('abandoned')
    await waitFor('the live events', () => service.openStreams() === 1)
    service.change({ status: 'warning' })
    expect(await ended).toMatchObject({ status: 'warning' })
    expect(told).toEqual(['abandoned', 'warning'])
    expect(await follow({ status: 'success' }, 'real').begin()).toMatchObject({ status: 'success' })
  })

  test.each([AWAY, GONE])('that cannot be read at first is not followed: %s', async (failure) => {
    const { service, told, begin } = follow()
    service.failure = failure
    await expect(begin()).rejects.toBe(failure)
    expect(told).toEqual([])
    expect(service.openStreams()).toBe(0)
  })

  test('is read again every 3 s while the control plane is away, which is said once each time', async () => {
    const held = holdDelays(3000)
    const { service, told, begin, tells, stop } = follow()
    const ended = begin()
    await tells('running')
    for (const time of [1, 2]) {
      service.failure = AWAY
      service.change()
      await waitFor('a wait', () => held.length === 2 * time - 1)
      expect(told.at(-1)).toBe('lost: It is away.')
      held.at(-1)?.end()
      await waitFor('another wait', () => held.length === 2 * time)
      service.failure = null
      held.at(-1)?.end()
      await waitFor('the connection', () => told.filter((text) => text === 'back').length === time)
    }
    expect(told).toEqual(['running', 'lost: It is away.', 'back', 'lost: It is away.', 'back'])
    service.failure = AWAY
    service.change()
    await waitFor('a wait', () => held.length === 5)
    const reason = new Error('Ctrl-C')
    stop.abort(reason)
    await expect(ended).rejects.toBe(reason)
  })

  test('that is deleted meanwhile ends with the words of the service', async () => {
    const { service, begin, tells } = follow()
    const ended = begin()
    await tells('running')
    service.failure = GONE
    service.change()
    await expect(ended).rejects.toBe(GONE)
  })

  test('ends at Ctrl-C, and reads nothing after that', async () => {
    const { service, begin, tells, stop, quiet } = follow()
    const ended = begin()
    await tells('running')
    await waitFor('the live events', () => service.openStreams() === 1)
    await quiet()
    const asked = service.asked.length
    const reason = new Error('Ctrl-C')
    stop.abort(reason)
    await expect(ended).rejects.toBe(reason)
    expect(service.asked.length).toBe(asked)
    expect(service.openStreams()).toBe(0)
  })

  test('ends when the live events are refused', async () => {
    const { service, begin } = follow()
    service.streamFailure = new RefusedError('Not for you.', 403, null)
    await expect(begin()).rejects.toBe(service.streamFailure)
  })
})

describe('another run that was given the number', () => {
  test('is noticed at the job, of which nothing is told', async () => {
    const { service, told, begin, tells } = follow({ run_id: 'a' })
    const ended = begin()
    await tells('running')
    service.change({ run_id: 'b', status: 'success' })
    await expect(ended).rejects.toThrow('Job 7 is another job now (run b)')
    expect(told).toEqual(['running'])
  })

  test('is noticed at its output, of which nothing is told', async () => {
    const { service, told, begin } = follow({ run_id: 'a' })
    Object.assign(service, { output: 'of another', outputRun: 'b' })
    await expect(begin()).rejects.toThrow('The job that was asked for is run a')
    expect(told).toEqual(['running'])
  })

  test('is not assumed where the service names no run, or the same', async () => {
    const { service, told, begin } = follow({ status: 'success' })
    Object.assign(service, { output: 'mine', outputRun: 'a' })
    await begin()
    expect(told).toEqual(['success', '0: mine'])
  })
})
