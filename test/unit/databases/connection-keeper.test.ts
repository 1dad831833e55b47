import { setImmediate as letOthersRun } from 'node:timers/promises'
import { beforeEach, expect, test, vi } from 'vitest'
import { keepConnections } from '../../../control-plane/src/databases/connection-keeper.js'

interface Fake {
  readonly id: number
  isOpen: boolean
}

let made: Fake[]
let release: (() => void)[]

beforeEach(() => {
  made = []
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
      connection.isOpen = false
    },
    isOpen: ({ isOpen }) => isOpen,
    idleMs,
  })

/** Holds a connection until its entry of `release` is called. */
const held = () => new Promise<boolean>((resolve) => release.push(() => resolve(true)))

test('an idle connection ends after a while, and a failed one at once', async () => {
  const connections = keeper()
  await connections.use(() => Promise.resolve(true))
  await connections.use(() => Promise.resolve(true))
  expect(made).toEqual([{ id: 1, isOpen: true }])
  const quick = keeper(1)
  await quick.use(() => Promise.resolve(true))
  await vi.waitFor(() => expect(made[1]).toEqual({ id: 2, isOpen: false }))
  await connections.close()
  expect(made[0]).toEqual({ id: 1, isOpen: false })
  await expect(connections.use(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
  expect(made.at(-1)).toEqual({ id: 3, isOpen: false })
})

test('a close waits for what is still done with a connection, and then no connection is left', async () => {
  const connections = keeper()
  const use = connections.use(held)
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
  await connections.use(() => Promise.resolve(true))
  const ids: number[] = []
  const uses = [1, 2].map(() =>
    connections.use(({ id }) => {
      ids.push(id)
      return held()
    }),
  )
  await vi.waitFor(() => expect(ids).toEqual([1, 2]))
  for (const end of release) end()
  await Promise.all(uses)
  await connections.close()
})

test('a connection that broke meanwhile is not given to the next caller', async () => {
  const connections = keeper()
  await connections.use((connection) => {
    connection.isOpen = false
    return Promise.resolve(true)
  })
  await connections.use(() => Promise.resolve(true))
  const [, second] = made
  if (second) second.isOpen = false
  await connections.use(({ id }) => {
    expect(id).toBe(3)
    return Promise.resolve(true)
  })
  await connections.close()
})
