import { type Server, createServer } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openNotifications } from '../../../control-plane/src/store/postgres/postgres-notifications.js'
import { heldTimers } from '../../api/held-timers.js'

let server: Server
let tries: number

/** A server that ends every connection. */
beforeEach(async () => {
  tries = 0
  server = createServer((socket) => {
    tries += 1
    socket.on('error', () => undefined)
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  server.close()
})

function open() {
  const held = heldTimers()
  const logged: string[] = []
  const said: string[] = []
  const notifications = openNotifications(
    { host: '127.0.0.1', port: (server.address() as AddressInfo).port, user: 'ann', database: 'x', ssl: false },
    { arrived: (text) => said.push(text), connected: () => said.push('connected') },
    {
      timers: held.timers,
      log: {
        info: (_fields, text) => void logged.push(text),
        warn: (_fields, text) => void logged.push(text),
      },
    },
  )
  return { notifications, logged, said, ...held }
}

test('a server that is away is tried again after longer and longer pauses, and that is said once', async () => {
  const { notifications, logged, said, move, waitsFor } = open()
  for (const [count, pause] of [100, 200, 400, 800, 1600, 2000, 2000].entries()) {
    await expect.poll(() => [tries, waitsFor(pause)]).toEqual([count + 1, true])
    await expect(notifications.send('x')).rejects.toMatchObject({ code: 'database_unreachable' })
    move(pause)
  }
  await notifications.close()
  expect(said).toEqual([])
  expect(logged).toEqual(['no word from the other nodes until the database is reached again'])
})

test('after the end nothing is tried any more, and no timer stays', async () => {
  const { notifications, count, waitsFor, move } = open()
  await expect.poll(() => waitsFor(100)).toBe(true)
  await notifications.close()
  await notifications.close()
  expect(count()).toBe(0)
  move(10_000)
  expect(tries).toBe(1)
})

test('an end while a connection is made is the end', async () => {
  const { notifications, count, logged } = open()
  await notifications.close()
  expect([count(), logged]).toEqual([0, []])
})
