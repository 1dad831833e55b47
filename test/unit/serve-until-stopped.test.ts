import { SettingsError } from '@holdfast/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { serveUntilStopped } from '../../control-plane/src/cli/serve-until-stopped.js'
import { writeNotice } from '../../control-plane/src/cli/terminal.js'
import { DatabaseHeldError, InvalidInputError } from '../../control-plane/src/errors.js'
import { holdProcessTimers } from '../support/held-process-timers.js'

/** Calls only what was added for a signal meanwhile: the signals of this process are for others, too. */
function addedFor(signal: NodeJS.Signals): () => void {
  const before = process.listeners(signal)
  return () => {
    for (const listener of process.listeners(signal)) if (!before.includes(listener)) listener(signal)
  }
}

/** Waits without a timer, because the timers are held. */
async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

/** A service that says in order what happens to it. */
function served(reloadsAtHangUp: boolean, reload: () => Promise<void> = () => Promise.resolve()) {
  const done: string[] = []
  const note = (text: string) => () => void done.push(text)
  const manager = {
    ready: (status: string) => void done.push(`ready: ${status}`),
    reloading: note('reloading'),
    stopping: note('stopping'),
    close: async () => note('manager closed')(),
  }
  const service = {
    address: 'http://here',
    reload: () => reload().then(note('reloaded')),
    close: async () => note('closed')(),
  }
  const say = async (line: string) => void done.push(line)
  const needs = { start: () => Promise.resolve(service), say, manager, reloadsAtHangUp }
  return { done, needs }
}

test('reports that it works, then that it stops, and closes in good order', async () => {
  const terminate = addedFor('SIGTERM')
  const { done, needs } = served(false)
  const code = serveUntilStopped(needs)
  await expect.poll(() => done).toEqual(['ready: listens at http://here'])
  terminate()
  expect(await code).toBe(0)
  expect(done.slice(1)).toEqual([
    'stopping',
    'holdfast is stopping (SIGTERM); a second signal ends it at once',
    'closed',
    'manager closed',
  ])
})

test('reloads at each SIGHUP, and goes on as before after a wrong file', async () => {
  const [hangUp, terminate] = [addedFor('SIGHUP'), addedFor('SIGINT')]
  const count = process.listenerCount('SIGHUP')
  let isWrong = false
  const { done, needs } = served(true, async () => {
    if (isWrong) throw new Error('line 3 is wrong')
  })
  const ready = 'ready: listens at http://here'
  const code = serveUntilStopped(needs)
  await expect.poll(() => done).toEqual([ready])
  hangUp()
  await expect.poll(() => done).toEqual([ready, 'reloading', 'reloaded', ready])
  isWrong = true
  hangUp()
  const said = 'holdfast could not reload and goes on as before: line 3 is wrong'
  await expect.poll(() => done.slice(4)).toEqual(['reloading', said, ready])
  terminate()
  expect(await code).toBe(0)
  expect(process.listenerCount('SIGHUP')).toBe(count)
})

test('reloads and stops as ever when nobody reads what it says', async () => {
  const [hangUp, terminate] = [addedFor('SIGHUP'), addedFor('SIGTERM')]
  let isWrong = true
  const { done, needs } = served(true, async () => {
    if (isWrong) throw new Error('line 3 is wrong')
  })
  const closed = {
    isTerminal: false,
    color: false,
    columns: 100,
    write: () => Promise.reject(new Error('write EPIPE')),
  }
  const ready = 'ready: listens at http://here'
  const code = serveUntilStopped({ ...needs, say: (line) => writeNotice(closed, line) })
  await expect.poll(() => done).toEqual([ready])
  hangUp()
  await expect.poll(() => done.slice(1)).toEqual(['reloading', ready])
  isWrong = false
  hangUp()
  await expect.poll(() => done.slice(3)).toEqual(['reloading', 'reloaded', ready])
  terminate()
  expect(await code).toBe(0)
  expect(done.slice(6)).toEqual(['stopping', 'closed', 'manager closed'])
})

const coded = (code: string, more: object = {}) => Object.assign(new Error(`${code}: no`), { code, ...more })

test.each([
  [new SettingsError('PORT: must be a whole number'), 2, 'PORT: must be a whole number'],
  [
    new DatabaseHeldError('database_held', 'another control plane works on it'),
    6,
    'Another control plane works on it.',
  ],
  [
    new InvalidInputError('bad_name', 'the name is too long'),
    2,
    'ADMIN_USERNAME, ADMIN_PASSWORD: the name is too long',
  ],
  [coded('EADDRINUSE', { port: 80, address: '::' }), 1, 'Port 80 at :: is taken. Choose another one with --port.'],
  [
    coded('EACCES', { port: 80 }),
    2,
    'Not allowed to listen on port 80. Choose one from 1024 up with --port, or give the service the right: ' +
      'AmbientCapabilities=CAP_NET_BIND_SERVICE in its unit.',
  ],
  // A folder that may not be written has no port.
  [coded('EACCES'), undefined, 'EACCES: no'],
  [coded('EPERM', { port: 80 }), undefined, 'EPERM: no'],
  [new Error('a bug'), undefined, 'a bug'],
])('a start that fails with %s ends with its own exit code and sentence', async (error, exitCode, message) => {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
  const counts = () => signals.map((signal) => process.listenerCount(signal))
  const before = counts()
  const { done, needs } = served(true)
  const failed = serveUntilStopped({ ...needs, start: () => Promise.reject(error) })
  expect(counts()).toEqual(before.map((count) => count + 1))
  const thrown = await failed.catch((reason: unknown) => reason as Error & { exitCode?: number })
  expect(thrown).toMatchObject({ message })
  expect((thrown as { exitCode?: number }).exitCode).toBe(exitCode)
  expect(done).toEqual(['manager closed'])
  expect(counts()).toEqual(before)
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s stops it, and a second signal finds nobody who hears it',
  async (signal) => {
    const terminate = addedFor(signal)
    const listeners = () => ({ SIGTERM: process.listeners('SIGTERM'), SIGINT: process.listeners('SIGINT') })
    const before = listeners()
    const { done, needs } = served(false)
    let close = (): void => undefined
    const closing = new Promise<void>((resolve) => (close = resolve))
    const start = async () => ({ ...(await needs.start()), close: () => closing })
    const code = serveUntilStopped({ ...needs, start })
    await expect.poll(() => done.length).toBe(1)
    expect(listeners()).not.toEqual(before)
    terminate()
    await expect.poll(() => done.length).toBe(3)
    expect(listeners()).toEqual(before)
    close()
    expect(await code).toBe(0)
  },
)

test('at a terminal a hang-up is not heard', async () => {
  const [terminate, count] = [addedFor('SIGTERM'), process.listenerCount('SIGHUP')]
  const { done, needs } = served(false)
  const code = serveUntilStopped(needs)
  await expect.poll(() => done.length).toBe(1)
  expect(process.listenerCount('SIGHUP')).toBe(count)
  terminate()
  await code
})

test('a hang-up during the start reloads nothing, because the start reads all files', async () => {
  const [hangUp, terminate] = [addedFor('SIGHUP'), addedFor('SIGTERM')]
  const { done, needs } = served(true)
  let goOn = (): void => undefined
  const mayStart = new Promise<void>((resolve) => (goOn = resolve))
  const code = serveUntilStopped({ ...needs, start: () => mayStart.then(needs.start) })
  hangUp()
  goOn()
  await expect.poll(() => done).toEqual(['ready: listens at http://here'])
  terminate()
  expect(await code).toBe(0)
  expect(done).not.toContain('reloading')
})

test('a stop that takes ten seconds is told of, and a quicker one is not', async () => {
  const timers = holdProcessTimers()
  onTestFinished(timers.release)
  const terminate = addedFor('SIGTERM')
  const { done, needs } = served(false)
  let close = (): void => undefined
  const closing = new Promise<void>((resolve) => (close = resolve))
  const start = async () => ({ ...(await needs.start()), close: () => closing })
  const code = serveUntilStopped({ ...needs, start })
  await turnsUntil(() => done.length === 1)
  terminate()
  await turnsUntil(() => done.length === 3)
  timers.advance(9_999)
  expect(done).toHaveLength(3)
  timers.advance(1)
  expect(done.at(-1)).toBe('holdfast is still stopping: requests or writes are under way')
  close()
  expect(await code).toBe(0)

  const quick = served(false)
  const ends = addedFor('SIGTERM')
  const stopped = serveUntilStopped(quick.needs)
  await turnsUntil(() => quick.done.length === 1)
  ends()
  await stopped
  expect(timers.count()).toBe(0)
})
