import { once } from 'node:events'
import { type Server } from 'node:http'
import { type Socket, connect } from 'node:net'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { appendServiceLine } from '../../control-plane/src/store/jobs/job-streams.js'
import { heldTimers } from '../api/held-timers.js'
import { putJob } from '../api/job-rows.js'
import { type TestServer, startServer } from '../api/server.js'
import { waitFor } from '../support/wait.js'

/** Answers with many bytes: nobody reads them, or one person asks for very many of them. */

const MIB = 1024 * 1024
/** Much more than the buffers of the system take. */
const LONG = 24 * MIB
/** How long a client has for the rest of its answer when the service stops, in milliseconds. */
const STOP_MS = 20_000

let held: ReturnType<typeof heldTimers>
let server: TestServer
let people: Record<'bob' | 'ann', string>
beforeEach(async () => {
  held = heldTimers()
  server = await startServer({ timers: held.timers })
  people = { bob: (await server.addUser('bob')).token, ann: (await server.addUser('ann')).token }
})
afterEach(() => server.close())

/** A job with an output of so many bytes. */
async function jobOf(user_name: string, bytes: number): Promise<number> {
  const id = await putJob(server, { user_name })
  const line = 'x'.repeat(60 * 1024)
  for (let written = 0; written < bytes; written += line.length) {
    await server.store.write('test.output', (queries) => appendServiceLine(queries, id, line))
  }
  return id
}

/** Sends a request over a connection of its own. Nothing of the answer is read before `resume`. */
async function ask(path: string, token: string): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined).pause()
  await once(socket, 'connect')
  socket.write(`GET /api/v2${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`)
  return socket
}

/** The service's ends of the connections that were made since. */
function watchConnections(): Socket[] {
  const sockets: Socket[] = []
  server.parts.app.server.on('connection', (socket: Socket) => sockets.push(socket))
  return sockets
}

const isStuck = (socket: Socket | undefined) => (socket?.writableLength ?? 0) > 0

test('answers that nobody reads do not keep the service from stopping', async () => {
  const id = await jobOf('bob', LONG)
  const served = watchConnections()
  for (const path of [`/job/${id}/download`, `/job/${id}?text=true`]) await ask(path, people.bob)
  await waitFor('the answers to be stuck', () => served.length === 2 && served.every(isStuck))
  const stopped = server.parts.app.close()
  await waitFor(
    'the stop to have a limit of time',
    () => {
      held.move(STOP_MS)
      return served.every(({ destroyed }) => destroyed)
    },
    { timeoutMs: 20_000 },
  )
  await stopped
  expect(held.waitsFor(STOP_MS)).toBe(false)
})

test('an answer of which nothing is taken for long is ended, and one that has nothing to send is not', async () => {
  const limit = server.parts.app.server as Server
  // The same rule, sooner.
  limit.timeout = 250
  const [id, running] = [
    await jobOf('bob', LONG),
    await putJob(server, { user_name: 'ann', status: 'running', dispatch: 'claimed', end_time: null }),
  ]
  const served = watchConnections()
  const quiet = await ask(`/job/${running}/output?follow=true`, people.ann)
  await waitFor('the quiet one', () => served.length === 1)
  const unread = await ask(`/job/${id}/download`, people.bob)
  await waitFor('the unread one to be closed', () => served[1]?.destroyed, { timeoutMs: 20_000 })
  const again = await ask(`/job/${id}/download`, people.bob)
  await waitFor('the next one to be closed', () => served[2]?.destroyed, { timeoutMs: 20_000 })
  expect(served[0]?.destroyed).toBe(false)
  for (const socket of [quiet, unread, again]) socket.destroy()
})

test('one person who downloads very much does not keep others waiting', async () => {
  const [large, small] = [await jobOf('bob', LONG), await jobOf('ann', 128 * 1024)]
  let bytes = 0
  const downloads = await Promise.all(Array.from({ length: 40 }, () => ask(`/job/${large}/download`, people.bob)))
  for (const socket of downloads) socket.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume()
  await waitFor('all downloads to go on', () => downloads.every(({ bytesRead }) => bytesRead > 0))
  const before = bytes
  for (const path of [`/job/${small}?output=false`, `/job/${small}/download`, '/job']) {
    expect((await server.call('GET', path, { token: people.ann })).status).toBe(200)
  }
  // As much as a few downloads get meanwhile, and not 40.
  expect((bytes - before) / MIB).toBeLessThan(16)
  expect(downloads.some(({ destroyed }) => destroyed)).toBe(false)
  for (const socket of downloads) socket.destroy()
})

test('one person has fifty unread answers at most, and others have theirs', async () => {
  const id = await jobOf('bob', LONG)
  const served = watchConnections()
  const unread = await Promise.all(Array.from({ length: 60 }, () => ask(`/job/${id}/download`, people.bob)))
  const stuck = () => served.filter(isStuck).length
  await waitFor('the answers to be stuck', () => stuck() >= 50)
  expect((await server.call('GET', '/job', { token: people.ann })).status).toBe(200)
  expect((await server.call('GET', `/job/${id}/output?limit=10`, { token: people.bob })).status).toBe(200)
  expect(stuck()).toBe(50)
  // Each that ends gives its place to the next one.
  for (const socket of served.filter(isStuck).slice(0, 10)) socket.destroy()
  await waitFor(
    'the others to begin',
    () => served.filter((socket) => !socket.destroyed && isStuck(socket)).length === 50,
  )
  for (const socket of unread) socket.destroy()
})
