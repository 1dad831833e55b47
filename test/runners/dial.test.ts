import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { INBOUND_SOCKET_PATH, SUBPROTOCOL } from '@holdfast/protocol'
import pino from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { createLiveEvents } from '../../control-plane/src/live/live-events.js'
import { type Nodes, SOLE_NODE } from '../../control-plane/src/nodes/nodes.js'
import { createDial } from '../../control-plane/src/runners/dialling/dial.js'
import { createDialWatch } from '../../control-plane/src/runners/dialling/dial-watch.js'
import { createRunnerAddresses } from '../../control-plane/src/runners/dialling/runner-addresses.js'
import type { RunnerHub } from '../../control-plane/src/runners/registration/hub/hub.js'
import {
  type RunnerAddress,
  insertRunnerAddress,
  listRunnerAddresses,
} from '../../control-plane/src/store/runners/runner-addresses.js'
import { heldTimers } from '../api/held-timers.js'
import { openTestStore } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'

/** What the control plane does to keep a runner connected that may not dial out. The clock and the timers are held. */
const ADDRESS = { id: 5, name: 'edge', fingerprint: null } as RunnerAddress

/** An agent that listens, and keeps the sockets that were opened to it. */
async function listeningAgent(port = 0) {
  const server = new WebSocketServer({ port, host: '127.0.0.1', path: INBOUND_SOCKET_PATH })
  await once(server, 'listening')
  const sockets: WebSocket[] = []
  server.on('connection', (socket) => sockets.push(socket))
  const close = async () => {
    for (const socket of sockets) socket.terminate()
    await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(close)
  const { port: given } = server.address() as AddressInfo
  return { sockets, close, port: given, address: `http://127.0.0.1:${given}` }
}

/** What a dial is given. Nothing happens after a wait until the test moves the timers. */
function dialling() {
  const clock = { ms: 0 }
  const held = heldTimers()
  const accepted: { addressId: number | undefined; name: string | null | undefined; protocol: string }[] = []
  const noted: (string | null)[] = []
  const accept: RunnerHub['accept'] = (socket, _address, _network, dialled) => {
    accepted.push({ addressId: dialled?.addressId, name: dialled?.name, protocol: socket.protocol })
  }
  const deps = {
    steady: { now: () => clock.ms },
    timers: held.timers,
    // The whole of each wait.
    random: () => Buffer.from([0xff, 0xff]),
    accept,
    noted: (problem: string | null) => void noted.push(problem),
  }
  return { clock, held, accepted, noted, deps }
}

describe('one dial', () => {
  test('hands the opened socket on with what the admin named, and ends it when it is closed', async () => {
    const agent = await listeningAgent()
    const { accepted, noted, held, deps } = dialling()
    const dial = createDial(deps, { ...ADDRESS, address: agent.address })
    await waitFor('the socket', () => accepted.length === 1)
    expect([accepted, noted]).toEqual([[{ addressId: 5, name: 'edge', protocol: SUBPROTOCOL }], [null]])
    dial.close()
    const [socket] = agent.sockets
    if (socket && socket.readyState !== socket.CLOSED) await once(socket, 'close')
    expect([held.count(), noted]).toEqual([0, [null]])
  })

  test('waits twice as long after each try, up to 30 s, and says what was wrong', async () => {
    const agent = await listeningAgent()
    await agent.close()
    const { held, noted, deps } = dialling()
    const dial = createDial(deps, { ...ADDRESS, address: agent.address })
    onTestFinished(() => dial.close())
    for (const [tries, wait] of [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].entries()) {
      await waitFor('the try to fail', () => noted.length === tries + 1)
      expect([held.count(), held.waitsFor(wait), noted[tries]]).toEqual([
        1,
        true,
        expect.stringContaining('ECONNREFUSED'),
      ])
      held.move(wait)
    }
  })

  test('a connection of a second has shown that it works: the next wait is short, and nothing is wrong', async () => {
    const agent = await listeningAgent()
    const { accepted, clock, held, noted, deps } = dialling()
    const dial = createDial(deps, { ...ADDRESS, address: agent.address })
    onTestFinished(() => dial.close())
    const loseAfter = async (milliseconds: number, wait: number, reason = '') => {
      const count = await waitFor('the socket', () => held.count() === 0 && (accepted.length || null))
      clock.ms += milliseconds
      agent.sockets.at(-1)?.close(1000, reason)
      await waitFor('the loss', () => held.count() === 1)
      expect(held.waitsFor(wait)).toBe(true)
      held.move(wait)
      await waitFor('the next socket', () => accepted.length === count + 1)
    }
    await loseAfter(999, 500)
    await loseAfter(999, 1000, 'no place')
    expect(noted).toEqual([null, 'the connection was lost', null, 'no place', null])
    await loseAfter(1000, 500)
    expect(noted.slice(5)).toEqual([null])
  })
})

/** The addresses of a node among others. */
async function watching(nodes: Partial<Nodes> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-dials-'))
  const store = await openTestStore(folder)
  const { accepted, held, deps } = dialling()
  const live = createLiveEvents()
  const raised: string[] = []
  live.subscribe((name) => raised.push(name))
  const given = {
    ...deps,
    store,
    live,
    clock: { now: () => 7000 },
    log: pino({ level: 'silent' }),
    nodes: { ...SOLE_NODE, id: 'here', isAlive: (id: string) => id === 'alive', ...nodes },
  }
  const close: (() => Promise<void>)[] = []
  onTestFinished(async () => {
    for (const one of close) await one()
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const rows = () => listRunnerAddresses(store.read)
  const insert = (address: string, node: string | null = null) =>
    store.write('test', async (queries) => {
      const row = { address, name: null, fingerprint: null, createdAt: 1, createdBy: 'root' }
      const added = await insertRunnerAddress(queries, row)
      await queries
        .updateTable('runner_address')
        .set({ node })
        .where('id', '=', added?.id ?? 0)
        .execute()
      return added?.id ?? 0
    })
  return {
    given,
    store,
    accepted,
    held,
    raised,
    rows,
    insert,
    watch() {
      const watch = createDialWatch(given)
      close.push(watch.close)
      return watch
    },
    addresses() {
      const addresses = createRunnerAddresses(given)
      close.push(addresses.close)
      return addresses
    },
  }
}

describe('the addresses of a node', () => {
  test('it takes those that nobody dials, or a dead node, and leaves those of a living one', async () => {
    const { watch, insert, rows } = await watching()
    for (const [port, node] of [null, 'here', 'dead', 'alive'].entries())
      await insert(`http://127.0.0.1:${port + 1}`, node)
    const one = watch()
    await one.look()
    expect((await rows()).map(({ node }) => node)).toEqual(['here', 'here', 'here', 'alive'])
  })

  test('it dials each of them once, and stops when an address is another node’s or gone', async () => {
    const agent = await listeningAgent()
    const { accepted, watch, insert, held, store } = await watching()
    const id = await insert(agent.address)
    const one = watch()
    await one.look()
    await one.look()
    await waitFor('the socket', () => accepted.length === 1 && agent.sockets.length === 1)
    await store.write('test', (queries) => queries.updateTable('runner_address').set({ node: 'alive' }).execute())
    const [socket] = agent.sockets
    const ended = socket ? once(socket, 'close') : null
    await one.look()
    await ended
    // Back here, it is dialled anew.
    await store.write('test', (queries) => queries.updateTable('runner_address').set({ node: 'here' }).execute())
    await one.look()
    await waitFor('the next socket', () => accepted.length === 2 && agent.sockets.length === 2)
    const last = agent.sockets[1]
    const dropped = last ? once(last, 'close') : null
    one.drop(id)
    await dropped
    // Only the regular look is left.
    expect(held.count()).toBe(1)
  })

  test('an address that an admin removes is dialled no more at once', async () => {
    const agent = await listeningAgent()
    const { addresses, held } = await watching()
    const list = addresses()
    const { id } = await list.add({ address: agent.address, name: null, fingerprint: null }, 'root')
    await waitFor('the socket', () => agent.sockets.length === 1)
    const [socket] = agent.sockets
    const ended = socket ? once(socket, 'close') : null
    await list.remove(id, 'root')
    await ended
    // Only the regular look is left, and it was not needed.
    expect(held.count()).toBe(1)
  })

  test('what is wrong with an address is stored when it changes, and people see it', async () => {
    const agent = await listeningAgent()
    await agent.close()
    const { watch, insert, rows, raised, held } = await watching()
    await insert(agent.address)
    await watch().look()
    const problem = async () => (await rows())[0]?.problem ?? null
    await waitFor('the problem', async () => (await problem())?.includes('ECONNREFUSED'))
    await waitFor('the word to people', () => raised.length === 1)
    held.move(500)
    await waitFor('the second try to fail', () => held.waitsFor(1000))
    expect(raised).toEqual(['runners'])
    const again = await listeningAgent(agent.port)
    held.move(1000)
    await waitFor('the socket', () => again.sockets.length === 1)
    await waitFor('no problem', async () => (await problem()) === null)
    await waitFor('the second word', () => raised.length === 2)
  })
})

describe('naming an address', () => {
  test.each([
    ['runner.example:8002', 'http://runner.example:8002'],
    ['http://Runner.Example:8002/', 'http://runner.example:8002'],
    ['http://[::1]:8002', 'http://[::1]:8002'],
  ])('%s is %s, and is dialled from then on', async (text, address) => {
    const { addresses, raised, held } = await watching()
    const all = addresses()
    const added = await all.add({ address: text, name: 'edge', fingerprint: null }, 'ann')
    expect(added).toMatchObject({ address, name: 'edge', createdAt: 7000, createdBy: 'ann', node: null, problem: null })
    expect([raised[0], await all.exists(added.id), await all.exists(99)]).toEqual(['runners', true, false])
    await expect(all.add({ address, name: null, fingerprint: null }, 'ann')).rejects.toMatchObject({
      code: 'address_exists',
    })
    await waitFor('its dial', async () => (await all.list())[0]?.node === 'here')
    await all.look()
    await all.remove(added.id, 'ann')
    await expect(all.remove(added.id, 'ann')).rejects.toMatchObject({ code: 'no_such_address' })
    expect(await all.list()).toEqual([])
    await all.close()
    expect(held.count()).toBe(0)
  })

  test.each([
    'runner.example',
    'https://runner.example:8002',
    'ws://runner.example:8002',
    'http://runner.example:80',
    'http://runner.example:8002/path',
    'http://runner.example:8002/?a=b',
    'http://runner.example:8002/#a',
    'http://user@runner.example:8002',
    'http://:secret@runner.example:8002',
    'http://',
    '',
  ])('%s is no host with a port', async (address) => {
    const { addresses } = await watching()
    await expect(addresses().add({ address, name: null, fingerprint: null }, 'ann')).rejects.toMatchObject({
      code: 'bad_address',
    })
  })
})
