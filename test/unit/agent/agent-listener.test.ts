import { once } from 'node:events'
import { connect } from 'node:net'
import { CLOSE_REASONS, INBOUND_SOCKET_PATH, SUBPROTOCOL } from '@holdfast/protocol'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import type { AgentHandshake } from '../../../runner-agent/src/link/handshake.js'
import { createListener } from '../../../runner-agent/src/link/listener.js'

const ignore = (): void => undefined

/** A listener of an agent whose handshakes nobody completes, and the port that its log names. */
async function listening() {
  const { port, log } = loggedPort()
  const handshake: AgentHandshake = {
    greet: () => '',
    prove: () => {
      throw new Error('nobody proves anything here')
    },
  }
  const options = { host: '127.0.0.1', port: 0, prepare: () => Promise.resolve(), handshake: () => handshake }
  const events = { up: ignore, message: ignore, blob: ignore, heartbeat: ignore, down: ignore }
  const link = createListener(options, events, log)
  link.start()
  const address = `127.0.0.1:${await port}`
  onTestFinished(() => link.close())
  return { link, address }
}

function loggedPort() {
  let found: (port: number) => void = ignore
  const port = new Promise<number>((resolve) => {
    found = resolve
  })
  const write = (line: string): void => {
    const { inbound_port: said } = JSON.parse(line) as { inbound_port?: number }
    if (said !== undefined) found(said)
  }
  return { port, log: pino({ level: 'info' }, { write }) }
}

/** What an upgrade of this path is answered. */
async function answerTo(address: string, path: string): Promise<string> {
  const socket = connect(Number(address.split(':')[1]), '127.0.0.1')
  const headers = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13'
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\nSec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\n\r\n`)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return bytes.toString('latin1').split('\r\n', 1)[0] ?? ''
}

test('a stopping agent says so, and waits until the control plane has got it', async () => {
  const { link, address } = await listening()
  const client = new WebSocket(`ws://${address}${INBOUND_SOCKET_PATH}`, SUBPROTOCOL)
  await once(client, 'open')
  client.pause()
  let isClosed = false
  const closing = link.close().then(() => {
    isClosed = true
  })
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  expect(isClosed).toBe(false)
  const ended = once(client, 'close')
  client.resume()
  expect((await ended)[0]).toBe(CLOSE_REASONS.going_away.code)
  await closing
})

test('only the path for control planes is accepted', async () => {
  const { address } = await listening()
  expect(await answerTo(address, '/other')).toBe('HTTP/1.1 404 Not Found')
  expect(await answerTo(address, INBOUND_SOCKET_PATH)).toBe('HTTP/1.1 101 Switching Protocols')
})
