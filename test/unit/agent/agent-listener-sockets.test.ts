import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { CLOSE_REASONS, INBOUND_SOCKET_PATH, SUBPROTOCOL } from '@holdfast/protocol'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { createListener } from '../../../runner-agent/src/link/listener.js'
import { holdClock } from '../../agent/held-clock.js'
import { waitUntil } from '../../agent/waiting.js'
import { markingHandshake } from './held-socket.js'

interface Given {
  readonly port?: number
  readonly prepare?: () => Promise<void>
}

/** A listener that believes everybody who dials, and all that it tells and logs. */
function listener({ port = 0, prepare = () => Promise.resolve() }: Given = {}) {
  const told: string[] = []
  const logged: { level: number; msg: string; inbound_port?: number; ip?: string; reason?: string }[] = []
  const log = pino(
    { level: 'info' },
    { write: (line) => void logged.push(JSON.parse(line) as (typeof logged)[number]) },
  )
  const link = createListener(
    { host: '127.0.0.1', port, prepare, handshake: () => markingHandshake() },
    {
      up: ({ epoch }) => void told.push(`up ${epoch}`),
      message: ({ type }) => void told.push(type),
      blob: () => void told.push('blob'),
      heartbeat: () => void told.push('heartbeat'),
      down: () => void told.push('down'),
      refused: (reason) => void told.push(`refused ${reason}`),
    },
    log,
  )
  onTestFinished(() => link.close())
  link.start()
  const listening = () => waitUntil('it listens', () => logged.find((line) => line.inbound_port)?.inbound_port)
  const said = (words: string) => logged.filter(({ msg }) => msg.includes(words))
  return { link, told, logged, said, listening }
}

async function dialled(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${INBOUND_SOCKET_PATH}`, SUBPROTOCOL)
  onTestFinished(() => {
    socket.terminate()
  })
  await once(socket, 'open')
  return socket
}

/** A control plane that dials and proves itself. */
async function proven(port: number): Promise<WebSocket> {
  const socket = await dialled(port)
  socket.send('challenge')
  await once(socket, 'message')
  socket.send(JSON.stringify({ type: 'proof', payload: 'p', signature: 's' }))
  await once(socket, 'message')
  return socket
}

const sealed = (message: object): Buffer => Buffer.from(`sealed ${JSON.stringify(message)}`)
const welcome = (epoch: number) =>
  sealed({ type: 'welcome', state: 'approved', epoch, max_jobs: null, heartbeat_ms: 60_000, speaks: 1 })

/** One that also welcomes this runner. */
async function welcoming(port: number, epoch: number): Promise<WebSocket> {
  const socket = await proven(port)
  socket.send(welcome(epoch))
  return socket
}

async function closedWith(socket: WebSocket): Promise<unknown> {
  const [code] = (await once(socket, 'close')) as [number]
  return code
}

describe('a control plane that dials', () => {
  test('is told of with its welcome and its end, and its work is passed on', async () => {
    const { link, told, said, listening } = listener()
    const socket = await welcoming(await listening(), 5)
    socket.send(sealed({ type: 'forget', job_id: 1, run_id: 'a'.repeat(32) }))
    await waitUntil('its work came', () => told.includes('forget'))
    expect(link.connects).toBe(1)
    socket.close(CLOSE_REASONS.revoked.code, 'an admin says so')
    await waitUntil('the end is told', () => told.includes('refused revoked'))
    expect(told).toEqual(['up 5', 'forget', 'down', 'refused revoked'])
    expect(said('the connection ended: an admin says so')).toMatchObject([
      { level: 40, ip: '127.0.0.1', reason: 'revoked' },
    ])
  })

  test('again takes the place of its older connection, which is closed', async () => {
    const { link, told, said, listening } = listener()
    const port = await listening()
    const older = await welcoming(port, 5)
    await waitUntil('it is welcome', () => told.length > 0)
    const end = closedWith(older)
    const newer = await welcoming(port, 6)
    expect(await end).toBe(CLOSE_REASONS.taken_over.code)
    await waitUntil('the older end is told', () => told.includes('refused taken_over'))
    expect([told, link.connects]).toEqual([['up 5', 'down', 'up 6', 'refused taken_over'], 2])
    newer.terminate()
    await waitUntil('the newer end is told', () => said('the connection ended').length === 2)
    expect(told.slice(4)).toEqual(['down'])
  })

  test('and refuses this runner before a welcome says why', async () => {
    const { told, listening } = listener()
    const socket = await proven(await listening())
    socket.close(CLOSE_REASONS.denied.code)
    await waitUntil('it is told', () => told.length > 0)
    expect(told).toEqual(['refused denied'])
  })

  test('is answered without compression, in the protocol of runners', async () => {
    const { listening } = listener()
    const socket = await dialled(await listening())
    expect([socket.protocol, socket.extensions]).toEqual([SUBPROTOCOL, ''])
  })
})

test('a stranger who dials is noted, and changes nothing', async () => {
  const { link, told, said, listening } = listener()
  const socket = await dialled(await listening())
  socket.close(CLOSE_REASONS.revoked.code, 'a lie')
  const [line] = await waitUntil('it is noted', () => {
    const lines = said('somebody dialled who did not prove to be the control plane: a lie')
    return lines.length > 0 ? lines : null
  })
  expect(line).toMatchObject({ level: 30, ip: '127.0.0.1', reason: 'revoked' })
  expect([told, link.connects]).toEqual([[], 0])
})

/** What a request is answered, up to its end. */
async function answerTo(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`${request}\r\n\r\n`)
  const parts: Buffer[] = []
  for await (const part of socket) {
    parts.push(part as Buffer)
    if (Buffer.concat(parts).includes('\r\n\r\n')) break
  }
  return Buffer.concat(parts).toString('latin1')
}

const upgradeWith = (protocol: string): string =>
  [
    `GET ${INBOUND_SOCKET_PATH} HTTP/1.1`,
    'Host: a',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==',
    `Sec-WebSocket-Protocol: ${protocol}`,
  ].join('\r\n')

test('requests that are no sockets are answered with 404, and no protocol is chosen but that of runners', async () => {
  const { listening } = listener()
  const port = await listening()
  expect(await answerTo(port, `GET ${INBOUND_SOCKET_PATH} HTTP/1.1\r\nHost: a`)).toMatch(/^HTTP\/1\.1 404 /)
  expect((await answerTo(port, upgradeWith('other'))).toLowerCase()).not.toContain('sec-websocket-protocol')
  expect(await answerTo(port, upgradeWith(`other, ${SUBPROTOCOL}`))).toContain(`Sec-WebSocket-Protocol: ${SUBPROTOCOL}`)
})

describe('sockets of one address', () => {
  const opened = async (port: number): Promise<{ socket: Socket; isClosed: () => boolean }> => {
    let isClosed = false
    const socket = connect(port, '127.0.0.1')
      .on('error', () => undefined)
      .on('close', () => (isClosed = true))
    onTestFinished(() => void socket.destroy())
    await once(socket.resume(), 'connect')
    return { socket, isClosed: () => isClosed }
  }

  test('may be eight at once; one more is closed, and a place that is free again is given again', async () => {
    const { listening } = listener()
    const port = await listening()
    const eight: Awaited<ReturnType<typeof opened>>[] = []
    for (let count = 0; count < 8; count += 1) eight.push(await opened(port))
    for (let round = 0; round < 3; round += 1) {
      const one = await opened(port)
      await waitUntil('the ninth is closed', one.isClosed)
    }
    expect(eight.map(({ isClosed }) => isClosed())).toEqual(Array(8).fill(false))
    eight.pop()?.socket.destroy()
    const answer = 'HTTP/1.1 101'
    await waitUntil('there is room again', async () => {
      const answered = await answerTo(port, upgradeWith(SUBPROTOCOL)).catch(() => '')
      return answered.startsWith(answer)
    })
    for (const { socket } of eight.splice(0)) socket.destroy()
    for (let count = 0; count < 8; count += 1) {
      await waitUntil(`place ${count} is free again`, async () => {
        const one = await opened(port)
        one.socket.write('GET / HTTP/1.1\r\nHost: a\r\n')
        await new Promise(setImmediate)
        eight.push(one)
        return eight.filter(({ isClosed }) => !isClosed()).length > count
      })
    }
  })
})

describe('a listener that prepares its keys', () => {
  test('answers when they are there, and lives on when somebody goes meanwhile', async () => {
    const waiting: (() => void)[] = []
    const prepare = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve))
    const { listening } = listener({ prepare })
    const port = await listening()
    const gone = connect(port, '127.0.0.1').on('error', () => undefined)
    gone.write(`${upgradeWith(SUBPROTOCOL)}\r\n\r\n`)
    await waitUntil('the first one waits', () => waiting.length === 1)
    gone.resetAndDestroy()
    let isAnswered = false
    const answer = answerTo(port, upgradeWith(SUBPROTOCOL)).finally(() => (isAnswered = true))
    await waitUntil('the second one waits', () => waiting.length === 2)
    expect(isAnswered).toBe(false)
    for (const resolve of waiting) resolve()
    expect(await answer).toMatch(/^HTTP\/1\.1 101 /)
  })

  test('lets nobody in when it was closed meanwhile', async () => {
    const waiting: (() => void)[] = []
    const prepare = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve))
    const { link, listening } = listener({ prepare })
    const answer = answerTo(await listening(), upgradeWith(SUBPROTOCOL)).catch(() => '')
    await waitUntil('it waits', () => waiting.length === 1)
    const closed = link.close()
    waiting[0]?.()
    await closed
    expect(await answer).not.toContain('101')
  })
})

describe('a listener that is closed', () => {
  test('closes idle sockets, too, and listens no more', async () => {
    const { link, listening, said } = listener()
    const port = await listening()
    const idle = connect(port, '127.0.0.1').resume()
    await once(idle, 'connect')
    const dialling = await dialled(port)
    const end = closedWith(dialling)
    const gone = once(idle, 'close')
    await link.close()
    expect(await end).toBe(CLOSE_REASONS.going_away.code)
    await gone
    link.start()
    const late = connect(port, '127.0.0.1')
    expect(await once(late, 'error')).toMatchObject([{ code: 'ECONNREFUSED' }])
    expect(said('waiting for the control plane')).toHaveLength(1)
  })
})

describe('a port that is taken', () => {
  async function taken() {
    const other = createServer()
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const free = async (): Promise<void> => {
      other.close()
      await once(other, 'close')
    }
    return { port, free }
  }

  test('is tried again after five seconds', async () => {
    const { port, free } = await taken()
    const clock = holdClock({ timers: true })
    const { said, listening } = listener({ port })
    await waitUntil('it is said', () => said('listening is tried again').length === 1)
    clock.move(4_999)
    await free()
    expect(clock.count()).toBe(1)
    clock.move(1)
    expect(await listening()).toBe(port)
  })

  test('is not tried again by an agent that ends', async () => {
    const { port, free } = await taken()
    const clock = holdClock({ timers: true })
    const { link, said } = listener({ port })
    await waitUntil('it is said', () => said('listening is tried again').length === 1)
    await link.close()
    expect(clock.count()).toBe(0)
    await free()
  })
})
