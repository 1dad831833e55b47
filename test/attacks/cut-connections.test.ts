import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { SOCKET_PATH } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { waitFor } from '../support/wait.js'

/** A stranger who goes away at a bad moment fills no log, and nothing that he asked for lacks its address. */

let server: TestServer
const log: string[] = []

beforeAll(async () => {
  server = await startServer({ log })
})
afterAll(() => server.close())

const upgrade = `GET ${SOCKET_PATH} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`
const signIn = JSON.stringify({ username: 'admin', password: 'a wrong one' })
const post = `POST /api/v2/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${signIn.length}\r\n\r\n${signIn}`
const get = 'GET /api/v2/version HTTP/1.1\r\nHost: x\r\n\r\n'

/** Sends these bytes and goes away at once. @returns the lines of the log after it */
async function cut(bytes: string | Buffer, times = 5): Promise<string[]> {
  const before = log.length
  const taken: Socket[] = []
  const note = (socket: Socket) => taken.push(socket)
  server.parts.app.server.on('connection', note)
  for (let time = 0; time < times; time += 1) {
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(bytes, () => socket.resetAndDestroy())
    await once(socket, 'close')
  }
  server.parts.app.server.off('connection', note)
  await waitFor('the end of the connections', () => taken.length === times && taken.every(({ destroyed }) => destroyed))
  return log.slice(before)
}

describe('a connection that is cut', () => {
  test.each([
    ['after its upgrade', upgrade],
    ['after its upgrade and bytes that are no frame', Buffer.from(`${upgrade}\xff\xff\xff\xff`, 'latin1')],
    ['after a request and an upgrade', get + upgrade],
    ['after a sign-in and an upgrade', post + upgrade],
    ['after an upgrade to something else', upgrade.replace('websocket', 'h2c')],
    ['after an upgrade without its key', upgrade.replace('AAAA==', '')],
  ])('%s is told in few lines, and none has a stack', async (_when, bytes) => {
    const lines = await cut(bytes)
    for (const line of lines) expect(line).not.toMatch(/"stack"|"level":[56]0/)
    expect(lines.length).toBeLessThanOrEqual(10)
  })

  test('after a sign-in counts as a failed one, with its address in the audit trail', async () => {
    const records = async () =>
      (await server.call('GET', '/audit?action=auth.login', { token: server.admin })).body.records as {
        status: number
        address: string | null
      }[]
    const failed = async () => (await records()).filter(({ status }) => status !== 200)
    const before = (await failed()).length
    const lines = await cut(post, 3)
    expect(lines.join('')).not.toContain('could not be stored')
    const after = await waitFor('the records', async () => {
      const found = await failed()
      return found.length >= before + 1 && found
    })
    expect(after.every(({ address }) => address === '127.0.0.1')).toBe(true)
  })
})
