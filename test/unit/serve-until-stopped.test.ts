import { SettingsError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { serveUntilStopped } from '../../control-plane/src/cli/serve-until-stopped.js'
import { writeNotice } from '../../control-plane/src/cli/terminal.js'
import { DatabaseHeldError } from '../../control-plane/src/errors.js'

/** Calls only what was added for a signal meanwhile: the signals of this process are for others, too. */
function addedFor(signal: NodeJS.Signals): () => void {
  const before = process.listeners(signal)
  return () => {
    for (const listener of process.listeners(signal)) if (!before.includes(listener)) listener(signal)
  }
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

test.each([
  [new SettingsError('PORT: must be a whole number'), 2],
  [new DatabaseHeldError('database_held', 'another control plane works on it'), 6],
])('a start that fails with %s ends with its own exit code', async (error, exitCode) => {
  const count = process.listenerCount('SIGTERM')
  const { done, needs } = served(false)
  const failed = serveUntilStopped({ ...needs, start: () => Promise.reject(error) })
  await expect(failed).rejects.toMatchObject({ exitCode })
  expect(done).toEqual(['manager closed'])
  expect(process.listenerCount('SIGTERM')).toBe(count)
})
