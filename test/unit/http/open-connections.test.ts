import { once } from 'node:events'
import { request as send, type IncomingMessage } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import fastify from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { endUnreadBodies } from '../../../control-plane/src/http/server/unread-bodies.js'
import { endUnusedConnections } from '../../../control-plane/src/http/server/unused-connections.js'
import { waitFor } from '../../support/wait.js'
import { heldTimers } from '../../api/held-timers.js'

const LINGER_MS = 5000

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A service that answers before it has read the body of a request. */
async function service({ holds = false }: { readonly holds?: boolean } = {}) {
  const held = heldTimers()
  const app = fastify({ forceCloseConnections: false })
  endUnreadBodies(app, held.timers)
  endUnusedConnections(app, false)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined))
  let goOn: () => void = () => undefined
  const waits = new Promise<void>((resolve) => (goOn = resolve))
  let asked = 0
  app.all('/', async () => {
    asked += 1
    if (holds) await waits
    return 'done'
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  closing.push(() => app.close())
  const { port } = app.server.address() as AddressInfo
  return { app, held, port, asked: () => asked, goOn: () => goOn() }
}

async function dial(port: number) {
  const socket: Socket = connect(port, '127.0.0.1')
  let text = ''
  let isClosed = false
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  socket.on('error', () => undefined).on('close', () => (isClosed = true))
  await once(socket, 'connect')
  closing.push(() => void socket.destroy())
  return { socket, answers: () => text, isClosed: () => isClosed }
}
const head = (length: number) => `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: a/b\r\ncontent-length: ${length}\r\n\r\n`
const answersIn = (text: string) => text.split('HTTP/1.1 200').length - 1

describe('a request that is answered before its body has come', () => {
  test('has the rest read and dropped, and the connection is good for another one', async () => {
    const { held, port } = await service()
    const { socket, answers, isClosed } = await dial(port)
    socket.write(`${head(10)}12345`)
    await waitFor('the answer', () => answersIn(answers()) === 1)
    await waitFor('the rest to be awaited', () => held.waitsFor(LINGER_MS))
    socket.write(`67890${head(2)}12`)
    await waitFor('the second answer', () => answersIn(answers()) === 2)
    // Nobody waits for the first body any more.
    await waitFor('the wait to end', () => held.count() === 0)
    held.move(LINGER_MS)
    expect(isClosed()).toBe(false)
  })

  test('has five seconds for the rest', async () => {
    const { held, port } = await service()
    const { socket, answers, isClosed } = await dial(port)
    socket.write(`${head(10)}12345`)
    await waitFor('the answer', () => answersIn(answers()) === 1)
    await waitFor('the rest to be awaited', () => held.waitsFor(LINGER_MS))
    held.move(LINGER_MS - 1)
    expect(held.count()).toBe(1)
    held.move(1)
    await waitFor('the connection to end', isClosed)
  })

  test('whose body is whole is not waited for', async () => {
    const { held, port } = await service()
    const { socket, answers } = await dial(port)
    socket.write(`${head(3)}123`)
    await waitFor('the answer', () => answersIn(answers()) === 1)
    socket.write(`GET / HTTP/1.1\r\nhost: x\r\n\r\n`)
    await waitFor('the next answer', () => answersIn(answers()) === 2)
    expect(held.count()).toBe(0)
  })

  test('does not hold up the end of the service, neither before nor after its answer', async () => {
    const { app, held, port } = await service()
    const { socket, answers, isClosed } = await dial(port)
    socket.write(`${head(10)}12345`)
    await waitFor('the answer', () => answersIn(answers()) === 1)
    await waitFor('the rest to be awaited', () => held.waitsFor(LINGER_MS))
    const closed = app.close()
    await waitFor('the connection to end', isClosed)
    await closed

    const late = await service({ holds: true })
    const second = await dial(late.port)
    second.socket.write(`${head(10)}12345`)
    await waitFor('the request', () => late.asked() === 1)
    const ended = late.app.close()
    late.goOn()
    await ended
    await waitFor('its connection to end', second.isClosed)
    expect(late.held.count()).toBe(0)
  })
})

describe('a connection over which no request came', () => {
  test('ends with the service', async () => {
    const { app, port } = await service()
    const silent = await dial(port)
    // The service knows of the silent connection when a later one is answered.
    const { socket, answers } = await dial(port)
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    await waitFor('an answer', () => answersIn(answers()) === 1)
    const closed = app.close()
    await waitFor('the silent connection to end', silent.isClosed)
    await closed
  })

  test('is forgotten when its client ends it', async () => {
    const { app, port } = await service()
    const accepted = once(app.server, 'connection')
    const { socket } = await dial(port)
    const [left] = (await accepted) as [Socket]
    const isLeft = once(left, 'close')
    left.resume()
    socket.destroy()
    await isLeft
    let ends = 0
    left.destroy = () => {
      ends += 1
      return left
    }
    await app.close()
    expect(ends).toBe(0)
  })

  test('is not one over which a request is answered: it gets its answer', async () => {
    const { app, port, asked, goOn } = await service({ holds: true })
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      send({ port, host: '127.0.0.1', agent: false }, resolve).on('error', reject).end()
    })
    await waitFor('the request', () => asked() === 1)
    const ended = app.close()
    goOn()
    const answer = await answered
    answer.resume()
    expect(answer.statusCode).toBe(200)
    await ended
  })
})
