import { afterEach, describe, expect, test } from 'vitest'
import { newsIn } from '../../control-plane/src/runners/socket/reported.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { waitFor } from '../support/wait.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { RawAgent, newIdentity, restarted } from '../support/raw-agent.js'

let fixture: HubFixture | null = null

async function start(options: Parameters<typeof startHub>[0] = {}): Promise<HubFixture> {
  fixture = await startHub(options)
  return fixture
}
afterEach(async () => {
  await fixture?.close()
  fixture = null
})

/** A store whose writes of one name stop at a gate until it is opened, and are counted. */
function gated(name: string) {
  let open: () => void = () => undefined
  const state = { closed: false, arrived: 0, open: () => open() }
  let gate = Promise.resolve()
  const close = () => {
    state.closed = true
    gate = new Promise((resolve) => {
      open = resolve
    })
  }
  const wrap = (store: Store): Store => ({
    ...store,
    async write(what, operation) {
      if (what === name) {
        state.arrived += 1
        await gate
      }
      return store.write(what, operation)
    },
  })
  return { state, close, wrap }
}

describe('messages that come before the welcome', () => {
  test('are kept in order while the database decides, and reach the session', async () => {
    const { state, close, wrap } = gated('runners.hello')
    const { url, sessions, ...rest } = await start({ store: wrap })
    const identity = newIdentity('edge-1')
    const { token } = await rest.tokens.create({ name: null, ttlMinutes: 30 }, 'root')
    close()
    const agent = await RawAgent.greet(url, identity, { join_token: token })
    // In one burst with the hello, so that they are read before the pause can hold them back.
    for (let id = 1; id <= 50; id += 1) agent.say({ type: 'claimed', job_id: id, run_id: '0'.repeat(32) })
    agent.sendFrame(1, 7, 'x')
    await waitFor('the hello to reach the database', () => state.arrived === 1)
    expect(sessions).toEqual([])
    state.open()
    await waitFor('the frame', () => sessions[0]?.frames.length === 1)
    expect(sessions[0]?.messages.map((message) => 'job_id' in message && message.job_id)).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 1),
    )
  })

  test('are bounded', async () => {
    const { state, close, wrap } = gated('runners.hello')
    const { url } = await start({ store: wrap })
    close()
    const agent = RawAgent.dial(url, newIdentity('edge-1'))
    await agent.greet()
    const { _socket: network } = agent.socket as unknown as { _socket: { cork(): void; uncork(): void } }
    // One write to the network, so that the socket reads them together.
    network.cork()
    await agent.hello()
    for (let count = 0; count < 200; count += 1) agent.raw('{}')
    network.uncork()
    expect(await agent.waitForClose()).toMatchObject({ reason: 'before_handshake' })
    state.open()
  })

  test('a connection that goes away meanwhile is not registered', async () => {
    const { state, close, wrap } = gated('runners.hello')
    const { url, hub } = await start({ store: wrap })
    close()
    const agent = await RawAgent.greet(url, newIdentity('edge-1'))
    await waitFor('the hello to reach the database', () => state.arrived === 1)
    agent.socket.terminate()
    await agent.waitForClose()
    state.open()
    await waitFor('the request', async () => (await hub.list()).length === 1)
    await waitFor('it to be offline', async () => !(await hub.list())[0]?.online)
  })

  test('its epoch is stored nevertheless, so an older connection does not stay', async () => {
    const { state, close, wrap } = gated('runners.hello')
    const { approved, url } = await start({ store: wrap })
    const first = await approved('edge-1')
    close()
    const second = await RawAgent.greet(url, first.identity)
    await waitFor('the hello to reach the database', () => state.arrived === 2)
    second.socket.terminate()
    await second.waitForClose()
    state.open()
    expect(await first.waitForClose()).toMatchObject({ reason: 'taken_over' })
    const third = await RawAgent.join(url, first.identity)
    expect((await third.next('welcome')).epoch).toBe(3)
  })

  test('an approval that races the hello of a second connection is not lost', async () => {
    const { state, close, wrap } = gated('runners.hello')
    const { url, hub, byName, sessions } = await start({ store: wrap })
    const identity = newIdentity('edge-1')
    await RawAgent.join(url, identity)
    const { runner } = await byName('edge-1')
    close()
    const second = await RawAgent.greet(url, identity)
    await waitFor('the hello to reach the database', () => state.arrived === 2)
    const approved = hub.approve(runner.id, 'root')
    state.open()
    await approved
    expect(await second.next('settings')).toMatchObject({ state: 'approved' })
    expect(sessions.filter((session) => !session.isClosed)).toHaveLength(1)
  })
})

describe('heartbeat', () => {
  test('the connection of a silent runner is closed after two heartbeats', async () => {
    const { approved, byName, sessions } = await start({ heartbeatMs: 100 })
    const agent = await approved('edge-1')
    const { _socket: network } = agent.socket as unknown as { _socket: { pause(): void; resume(): void } }
    const since = Date.now()
    network.pause()
    await waitFor('it to be offline', async () => !(await byName('edge-1')).online, { everyMs: 5 })
    expect(Date.now() - since).toBeGreaterThanOrEqual(100)
    expect(sessions[0]?.isClosed).toBe(true)
    network.resume()
    expect(await agent.waitForClose()).toMatchObject({ reason: 'heartbeat_lost' })
  })

  test('the connection of a runner that only answers pings stays', async () => {
    const { approved } = await start({ heartbeatMs: 50 })
    const agent = await approved('edge-1')
    let pings = 0
    agent.socket.on('ping', () => (pings += 1))
    await waitFor('ten heartbeats', () => pings >= 10)
    expect(agent.closed).toBeNull()
  })

  test('a runner that is not read because the database is slow does not count as dead', async () => {
    const { approved, sessions } = await start({ heartbeatMs: 50 })
    const agent = await approved('edge-1')
    sessions[0]?.connection.pause()
    let pings = 0
    agent.socket.on('ping', () => (pings += 1))
    await waitFor('ten heartbeats', () => pings >= 10)
    agent.say({ type: 'inventory', jobs: [] })
    await waitFor('ten more', () => pings >= 20)
    expect(sessions[0]?.messages).toEqual([])
    sessions[0]?.connection.resume()
    await waitFor('the message', () => sessions[0]?.messages.length === 1)
    expect(agent.closed).toBeNull()
  })

  test('an approved runner that sends very much at once is read again after a moment, and nothing is lost', async () => {
    const { approved, sessions } = await start()
    const agent = await approved('edge-1')
    const { _socket: network } = agent.socket as unknown as { _socket: { cork(): void; uncork(): void } }
    network.cork()
    for (let count = 0; count < 20_000; count += 1) agent.say({ type: 'inventory', jobs: [] })
    network.uncork()
    await waitFor('all of it', () => sessions[0]?.messages.length === 20_000)
    expect(agent.closed).toBeNull()
  })

  test('a runner that reads nothing is disconnected before it fills the memory', async () => {
    const { approved, byName, sessions } = await start()
    const agent = await approved('edge-1')
    const { _socket: network } = agent.socket as unknown as { _socket: { pause(): void } }
    network.pause()
    const run = { job_id: 1, run_id: '0'.repeat(32), verdict: 'forget', output: 0, events: 0, abort: false } as const
    const jobs = Array.from({ length: 10_000 }, () => run)
    for (let count = 0; count < 100; count += 1) sessions[0]?.connection.send({ type: 'resume', jobs })
    expect((await byName('edge-1')).online).toBe(false)
    expect(sessions[0]?.isClosed).toBe(true)
  })

  test('the agent learns the time between heartbeats', async () => {
    const { url } = await start({ heartbeatMs: 50 })
    const agent = await RawAgent.join(url, newIdentity('edge-1'))
    expect((await agent.next('welcome')).heartbeat_ms).toBe(50)
  })
})

describe('status', () => {
  test('is stored with the skew of the clocks, and the session learns of a changed capacity', async () => {
    const { approved, byName, sessions, url } = await start()
    const agent = await approved('edge-1')
    agent.status({ running_jobs: 3, max_jobs: 4, draining: true, spool_bytes: 99, clock: Date.now() + 3_600_000 })
    const { runner } = await waitFor('the status', async () => {
      const view = await byName('edge-1')
      return view.runner.draining ? view : null
    })
    expect(runner).toMatchObject({ runningJobs: 3, agentMaxJobs: 4, draining: true, spoolBytes: 99 })
    expect(Math.abs(runner.clockSkewMs - 3_600_000)).toBeLessThan(30_000)
    expect(sessions[0]?.capacities.at(-1)).toEqual({ enabled: true, draining: true, maxJobs: 4 })

    // The agent drains until it is started anew, whatever becomes of its connection.
    await agent.leave()
    const again = await RawAgent.join(url, agent.identity)
    expect((await byName('edge-1')).runner.draining).toBe(true)
    await again.leave()
    await RawAgent.join(url, restarted(agent.identity))
    expect((await byName('edge-1')).runner.draining).toBe(false)
  })

  test('a thousand of them are stored in a few writes, and heartbeats without changes announce nothing', async () => {
    const { state, close, wrap } = gated('runners.status')
    const { approved, byName, raised } = await start({ store: wrap })
    const agent = await approved('edge-1')
    close()
    agent.status()
    await waitFor('the first', () => state.arrived === 1)
    raised.length = 0
    // While the first write is held, all others come: how many writes they make then depends on no clock.
    for (let count = 0; count < 1000; count += 1) agent.status()
    agent.status({ running_jobs: 5 })
    const heard = new Promise((resolve) => agent.socket.once('pong', resolve))
    agent.socket.ping()
    await heard
    expect(state.arrived).toBe(1)
    state.open()
    await waitFor('the last', async () => (await byName('edge-1')).runner.runningJobs === 5)
    expect(state.arrived).toBeLessThanOrEqual(3)
    await waitFor('the news', () => raised.includes('runners'))
    expect(raised.length).toBeLessThanOrEqual(2)
  })

  test('impossible numbers do no harm', async () => {
    const { approved, byName } = await start()
    const agent = await approved('edge-1')
    agent.raw(
      '{"type":"status","running_jobs":9007199254740991,"max_jobs":1,"draining":true,"spool_bytes":9007199254740991,"clock":1e999}',
    )
    const { runner } = await waitFor('the status', async () => {
      const view = await byName('edge-1')
      return view.runner.draining ? view : null
    })
    expect(Number.isSafeInteger(runner.clockSkewMs)).toBe(true)
    expect(agent.closed).toBeNull()
  })

  test('only changes that matter for offers or for people are announced', () => {
    const quiet = { runningJobs: 0, agentMaxJobs: 10, draining: false, spoolBytes: 0, clockSkewMs: 3, lastSeen: 1 }
    expect(newsIn(quiet, { ...quiet, lastSeen: 2, clockSkewMs: 12 })).toEqual({ urgent: false, visible: false })
    expect(newsIn(quiet, { ...quiet, runningJobs: 1 })).toEqual({ urgent: false, visible: true })
    expect(newsIn(quiet, { ...quiet, draining: true })).toEqual({ urgent: true, visible: true })
    expect(newsIn(quiet, { ...quiet, clockSkewMs: 5000 })).toEqual({ urgent: false, visible: true })
  })
})

describe('stopping', () => {
  test('closes every socket with going_away and refuses new ones', async () => {
    const { approved, hub, url } = await start()
    const agents = [await approved('edge-1'), await RawAgent.join(url, newIdentity('edge-2')), RawAgent.dial(url)]
    await agents[2]?.next('challenge')
    await hub.close()
    for (const agent of agents) expect(await agent.waitForClose()).toMatchObject({ reason: 'going_away' })
    const late = RawAgent.dial(url)
    expect(await late.waitForClose()).toMatchObject({ reason: 'going_away' })
  })

  test('does not wait for ever for a runner that does not answer', async () => {
    const { approved, hub } = await start({ limits: { closeMs: 50 } })
    const agent = await approved('edge-1')
    const { _socket: network } = agent.socket as unknown as { _socket: { pause(): void; resume(): void } }
    network.pause()
    await hub.close()
    expect(hub.counts()).toEqual({ sockets: 0, online: 0 })
    network.resume()
  })
})
