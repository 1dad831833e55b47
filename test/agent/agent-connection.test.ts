import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { encodeFrame, INBOUND_SOCKET_PATH, SOCKET_PATH, SUBPROTOCOL } from '@holdfast/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { fingerprintOfService, TEST_SERVICE } from '../support/service-identity.js'
import { FAST_TIMERS } from './fast-timers.js'
import { createSetting } from './setting.js'
import { waitUntil } from './waiting.js'

describe('a connection', () => {
  test('that was welcomed lasts, also when no job gives it work', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    controlPlane.heartbeatMs = 2000
    const agent = await joinApp(FAST_TIMERS)
    await waitUntil('a minute is over for the agent', () => controlPlane.statuses.length > 30)
    expect(controlPlane.hellos).toHaveLength(1)
    expect(agent.output).not.toContain('the connection to the control plane ended')
  })

  test('with a control plane that says nothing is given up, and dialled anew', async () => {
    const server = createServer()
    const sockets = new WebSocketServer({ server, path: SOCKET_PATH })
    let dials = 0
    sockets.on('connection', () => (dials += 1))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      for (const socket of sockets.clients) socket.terminate()
      server.close()
    })
    const { start } = await createSetting()
    start({ ...FAST_TIMERS, APP_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
    await waitUntil('it has dialled again', () => dials > 1)
  })

  test('on which a control plane breaks the contract is closed, and dialled anew', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp()
    const piece = { jobId: 1, stream: 'output', offset: 0, final: false, payload: Buffer.from('text') } as const
    const breaches = [
      'no json',
      '{"type":"welcome"}',
      encodeFrame({ kind: 'stream', epoch: 1, ...piece }),
      Buffer.from('no frame'),
    ]
    for (const breach of breaches) {
      const { socket, send, epoch } = await controlPlane.isConnected()
      send(breach)
      await waitUntil('it is closed', () => socket.readyState === socket.CLOSED)
      await waitUntil('it has dialled again', () => (controlPlane.connected?.epoch ?? 0) > epoch)
    }
  })

  test('that is lost right after each welcome is dialled less and less often', async () => {
    const { controlPlane, start } = await createSetting()
    controlPlane.cutsWelcomed = true
    const agent = start(FAST_TIMERS)
    const waits = (): number[] => agent.log.map(({ retry_ms }) => Number(retry_ms ?? 0))
    await waitUntil('it waits for long', () => waits().some((milliseconds) => milliseconds > 5000))
  })
})

test('an agent that is dialled lets in few strangers of one address, and others when they have gone', async () => {
  const { start } = await createSetting()
  const inbound = { RTE_MODE: 'inbound', RTE_INBOUND_HOST: '127.0.0.1', RTE_INBOUND_PORT: '0' }
  const agent = start({ ...inbound, RTE_SERVICE_FINGERPRINT: fingerprintOfService(TEST_SERVICE) })
  const { inbound_port: port } = await agent.logged('waiting for the control plane to dial')
  const dial = (): WebSocket => new WebSocket(`ws://127.0.0.1:${Number(port)}${INBOUND_SOCKET_PATH}`, SUBPROTOCOL)
  const strangers = Array.from({ length: 60 }, dial)
  onTestFinished(() => {
    for (const stranger of strangers) stranger.terminate()
  })
  const isLetIn = (one: WebSocket): Promise<boolean> =>
    new Promise((resolve) => one.once('open', () => resolve(true)).on('error', () => resolve(false)))
  const letIn = await Promise.all(strangers.map(isLetIn))
  expect(letIn).toContain(true)
  expect(letIn.filter((is) => is).length).toBeLessThan(30)
  const answerFor = (localAddress: string): Promise<number | undefined> =>
    new Promise((resolve) => {
      const asked = request({ host: '127.0.0.1', port: Number(port), localAddress }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
      asked.on('error', () => resolve(undefined)).end()
    })
  // They keep nobody out who comes from another address.
  expect(await answerFor('127.0.0.2')).toBe(404)
  for (const stranger of strangers) stranger.terminate()
  await waitUntil('the next one is answered', async () => (await answerFor('127.0.0.1')) === 404)
})
