import { setImmediate as letOthersRun, setTimeout as later } from 'node:timers/promises'
import { beforeEach, expect, test, vi } from 'vitest'
import { keepConnections } from '../../../control-plane/src/databases/connection-keeper.js'

interface Fake {
  readonly id: number
  isOpen: boolean
}

let made: Fake[]
/** Connections that were ended, each as often as that was done. */
let ended: number[]
let release: (() => void)[]
const never = new AbortController().signal

beforeEach(() => {
  made = []
  ended = []
  release = []
})

const keeper = (idleMs = 60_000) =>
  keepConnections<Fake>({
    open: () => {
      const connection = { id: made.length + 1, isOpen: true }
      made.push(connection)
      return Promise.resolve(connection)
    },
    end: (connection) => {
      ended.push(connection.id)
      connection.isOpen = false
    },
    isOpen: ({ isOpen }) => isOpen,
    most: 2,
    idleMs,
  })

/** Holds a connection until its entry of `release` is called. */
const held = () => new Promise<boolean>((resolve) => release.push(() => resolve(true)))

test('the number of connections is limited, and the next caller waits for its turn', async () => {
  const connections = keeper()
  const order: number[] = []
  const uses = [1, 2, 3].map((nth) =>
    connections.use(({ id }) => {
      order.push(nth * 10 + id)
      return held()
    }, never),
  )
  await vi.waitFor(() => expect(order).toEqual([11, 22]))
  release[1]?.()
  await vi.waitFor(() => expect(order).toEqual([11, 22, 32]))
  for (const end of release) end()
  await Promise.all(uses)
  await connections.close()
  expect(made).toEqual([
    { id: 1, isOpen: false },
    { id: 2, isOpen: false },
  ])
})

test('an idle connection ends after a while, and a failed one at once', async () => {
  const connections = keeper()
  await connections.use(() => Promise.resolve(true), never)
  await connections.use(() => Promise.resolve(true), never)
  expect(made).toEqual([{ id: 1, isOpen: true }])
  const quick = keeper(1)
  await quick.use(() => Promise.resolve(true), never)
  await vi.waitFor(() => expect(made[1]).toEqual({ id: 2, isOpen: false }))
  await connections.close()
  expect(made[0]).toEqual({ id: 1, isOpen: false })
  await expect(connections.use(() => Promise.reject(new Error('refused')), never)).rejects.toThrow('refused')
  expect(made.at(-1)).toEqual({ id: 3, isOpen: false })
})

test('a caller that stops waiting gets no turn', async () => {
  const connections = keeper()
  const uses = [1, 2].map(() => connections.use(held, never))
  const stop = new AbortController()
  const third = connections.use(held, stop.signal)
  stop.abort()
  await expect(third).rejects.toThrow('did not come in time')
  await vi.waitFor(() => expect(release.length).toBe(2))
  for (const end of release) end()
  await Promise.all(uses)
  await connections.close()
})

test('a close waits for what is still done with a connection, and then no connection is left', async () => {
  const connections = keeper()
  const use = connections.use(held, never)
  await vi.waitFor(() => expect(release.length).toBe(1))
  let isClosed = false
  const closing = connections.close().then(() => (isClosed = true))
  await letOthersRun()
  expect([isClosed, made]).toEqual([false, [{ id: 1, isOpen: true }]])
  for (const end of release) end()
  await closing
  expect(made).toEqual([{ id: 1, isOpen: false }])
  await use
})

test('two callers at a time never share a connection that was idle', async () => {
  const connections = keeper()
  await connections.use(() => Promise.resolve(true), never)
  const ids: number[] = []
  const uses = [1, 2].map(() =>
    connections.use(({ id }) => {
      ids.push(id)
      return held()
    }, never),
  )
  await vi.waitFor(() => expect(ids).toEqual([1, 2]))
  for (const end of release) end()
  await Promise.all(uses)
  await connections.close()
})

test('a connection that is in use again does not end as an idle one', async () => {
  const connections = keeper(1)
  await connections.use(() => Promise.resolve(true), never)
  const use = connections.use(held, never)
  await vi.waitFor(() => expect(release.length).toBe(1))
  // Timers run in their order: that of the idle time would have run before this one.
  await later(5)
  expect(made).toEqual([{ id: 1, isOpen: true }])
  release[0]?.()
  await use
  await connections.close()
})

test('every connection is ended once, also when it was idle for too long before the close', async () => {
  const connections = keeper(1)
  await connections.use(() => Promise.resolve(true), never)
  await vi.waitFor(() => expect(ended).toEqual([1]))
  await connections.use(() => Promise.resolve(true), never)
  await connections.close()
  await later(5)
  expect(ended).toEqual([1, 2])
})

test('a connection that broke meanwhile is not given to the next caller', async () => {
  const connections = keeper()
  await connections.use((connection) => {
    connection.isOpen = false
    return Promise.resolve(true)
  }, never)
  expect(ended).toEqual([1])
  await connections.use(() => Promise.resolve(true), never)
  const [, second] = made
  if (second) second.isOpen = false
  await connections.use(({ id }) => {
    expect(id).toBe(3)
    return Promise.resolve(true)
  }, never)
  await connections.close()
})
