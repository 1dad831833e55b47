import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import {
  type AddressInfo,
  connect,
  createServer as createNetServer,
  type Server as NetServer,
  type Socket,
} from 'node:net'
import { CLOSE_REASONS, SUBPROTOCOL } from '@holdfast/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocketServer } from 'ws'
import type { AgentHandshake } from '../../../runner-agent/src/link/handshake.js'
import { type Connection, openConnection } from '../../../runner-agent/src/link/connection.js'
import { waitUntil } from '../../agent/waiting.js'
import { TEST_CERTIFICATE } from '../../support/test-certificate.js'

async function portOf(server: NetServer): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const handshake: AgentHandshake = {
  greet: () => 'greeting',
  prove: () => {
    throw new Error('nobody proves anything here')
  },
}

function dial(address: string, proxy: string | null): Connection {
  const nothing = (): void => undefined
  return openConnection(
    { address, tlsVerify: false, proxy: proxy === null ? null : new URL(proxy), handshake: () => handshake },
    { welcome: nothing, message: nothing, blob: nothing, heartbeat: nothing },
  )
}

/** A control plane that keeps the headers of who dials, and says that it stops. */
async function controlPlane(server: Server) {
  const headers: IncomingHttpHeaders[] = []
  const sockets = new WebSocketServer({ server, perMessageDeflate: true, handleProtocols: () => SUBPROTOCOL })
  sockets.on('connection', (socket, request) => {
    headers.push(request.headers)
    socket.close(CLOSE_REASONS.going_away.code, 'it stops')
  })
  return { headers, port: await portOf(server) }
}

/** A proxy that keeps what it is asked for. @param answer null: it lets everybody through */
async function proxyServer(answer: string | null) {
  const asked: { target: string; host: string | undefined; authorization: string | undefined }[] = []
  const closed: Socket[] = []
  const proxy = createServer()
  proxy.on('connect', (request, client: Socket) => {
    client.on('error', () => undefined).once('close', () => closed.push(client))
    asked.push({
      target: request.url ?? '',
      host: request.headers.host,
      authorization: request.headers['proxy-authorization'],
    })
    if (answer !== null) {
      // The end of what comes is seen only by who reads it.
      client.resume().once('end', () => client.destroy())
      client.write(`HTTP/1.1 ${answer}\r\n\r\n`)
      return
    }
    const [host = '', port] = (request.url ?? '').split(':')
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    upstream.on('error', () => client.destroy())
  })
  return { asked, closed, port: await portOf(proxy) }
}

test('an agent dials with the protocol of runners, and offers no compression', async () => {
  const { headers, port } = await controlPlane(createServer())
  expect(await dial(`ws://127.0.0.1:${port}/`, null).ended).toMatchObject({ reason: 'going_away', text: 'it stops' })
  expect(headers).toMatchObject([{ 'sec-websocket-protocol': SUBPROTOCOL }])
  expect(headers[0]).not.toHaveProperty('sec-websocket-extensions')
})

describe('a proxy', () => {
  test.each([
    ['', undefined],
    ['me:secret@', `Basic ${Buffer.from('me:secret').toString('base64')}`],
    ['me:a%40b@', `Basic ${Buffer.from('me:a@b').toString('base64')}`],
  ])('with the user "%s" makes a tunnel to the control plane', async (user, authorization) => {
    const { headers, port } = await controlPlane(createTlsServer(TEST_CERTIFICATE))
    const proxy = await proxyServer(null)
    const connection = dial(`wss://127.0.0.1:${port}/`, `http://${user}127.0.0.1:${proxy.port}`)
    expect(await connection.ended).toMatchObject({ reason: 'going_away', text: 'it stops' })
    const target = `127.0.0.1:${port}`
    expect(proxy.asked).toEqual([{ target, host: target, authorization }])
    expect(headers).toHaveLength(1)
  })

  test('that refuses is named with its answer, and its connection is closed', async () => {
    const { closed, port } = await proxyServer('407 Proxy Authentication Required')
    const { reason, text } = await dial('wss://app.example.com/', `http://127.0.0.1:${port}`).ended
    expect([reason, text]).toEqual([null, `the proxy 127.0.0.1:${port} answered 407`])
    await waitUntil('it is closed', () => closed.length === 1)
  })

  test('that nobody reaches is named with the error of the network', async () => {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const { text } = await dial('wss://app.example.com/', `http://127.0.0.1:${port}`).ended
    expect(text).toContain(`the proxy 127.0.0.1:${port} cannot be used: connect ECONNREFUSED`)
  })

  test('with https must show a certificate that this host trusts', async () => {
    const port = await portOf(createTlsServer(TEST_CERTIFICATE))
    const { text } = await dial('wss://app.example.com/', `https://127.0.0.1:${port}`).ended
    expect(text).toContain(`the proxy 127.0.0.1:${port} cannot be used: self-signed certificate`)
  })

  test('that hangs up is named', async () => {
    const port = await portOf(createNetServer((socket) => socket.destroy()))
    const { text } = await dial('wss://app.example.com/', `http://127.0.0.1:${port}`).ended
    expect(text).toContain(`the proxy 127.0.0.1:${port} cannot be used: `)
  })
})
