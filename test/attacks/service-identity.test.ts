import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { SOCKET_PATH, createSigningKey, joinTokenOf, publicKeyOf, succeed } from '@holdfast/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import type { ServiceIdentity } from '../../control-plane/src/runners/socket/handshake.js'
import { AgentProcess } from '../agent/agent-process.js'
import type { FakeControlPlane, StoredJob } from '../agent/fake-control-plane.js'
import { leaveTrace, orderOf, play, publish, say, waitFor as waitForFile } from '../agent/playbooks.js'
import { type Setting, createSetting, exactEnd } from '../agent/setting.js'
import { waitUntil } from '../agent/waiting.js'
import { newPerson } from '../cli/run-cli.js'
import { type Relay, startRelay } from '../support/relay.js'
import { TEST_SERVICE, fingerprintOfService, newServiceIdentity } from '../support/service-identity.js'

/** A runner obeys the control plane whose key it trusts, and nobody else: strangers, relays and replays get nothing out of it. */
const TRUSTED = fingerprintOfService(TEST_SERVICE)
const trustFile = ({ statePath }: Setting) =>
  JSON.parse(readFileSync(join(statePath, 'control-plane'), 'utf8')) as Record<string, unknown>

/** A job that leaves a trace where it runs. */
function offerTrace(controlPlane: FakeControlPlane, folder: string): { job: StoredJob; trace: string } {
  const trace = join(folder, `trace-${controlPlane.jobs.size}`)
  return { job: controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(leaveTrace(trace)) }))), trace }
}

/** The key that comes after another one. */
function successorOf(before: ServiceIdentity, signedBy = before.privatePem): ServiceIdentity {
  const privatePem = createSigningKey()
  const publicKey = publicKeyOf(privatePem)
  const { signature } = succeed('service', signedBy, publicKey)
  return { privatePem, publicKey, succession: [...before.succession, { key: before.publicKey, signature }] }
}

describe("a stranger's server at the address of the control plane", () => {
  test('with a key of its own gets no name, no join token and no job run; the agent says so loudly', async () => {
    const setting = await createSetting()
    const { controlPlane, folder, start } = setting
    controlPlane.service = newServiceIdentity()
    const { trace } = offerTrace(controlPlane, folder)
    const agent = start({ RTE_SERVICE_FINGERPRINT: TRUSTED, RTE_JOIN_TOKEN: 'the-join-token' })
    const shown = fingerprintOfService(controlPlane.service)
    expect(await agent.logged('shows another key')).toMatchObject({ level: 'error', shown, trusted: TRUSTED })
    expect(await agent.probe('/ready')).toEqual({
      status: 503,
      body:
        '{"status":"not ready","reason":"the control plane shows another key than the one that this runner trusts",' +
        '"isolation":"none"}',
    })
    expect((await agent.probe('/metrics')).body).toMatch(/^holdfast_rte_untrusted_service 1$/m)
    await waitUntil('it has tried again', () => agent.log.filter((line) => line.msg.includes('shows another key'))[1])
    expect(controlPlane.hellos).toEqual([])
    expect(existsSync(trace)).toBe(false)

    // The control plane itself is back: nobody has to do anything.
    controlPlane.service = TEST_SERVICE
    await controlPlane.isConnected()
    await waitUntil('the playbook ran', () => existsSync(trace))
    expect((await agent.probe('/metrics')).body).toMatch(/^holdfast_rte_untrusted_service 0$/m)
  })

  test('of another contract, without any key, learns nothing at all', async () => {
    const heard: string[] = []
    const agent = await startAgainst((socket) => {
      socket.on('message', (data) => heard.push(String(data)))
      socket.send(JSON.stringify({ type: 'challenge', nonce: 'x', time: 0, contract: 2, version: '0' }))
    })
    await agent.logged('the control plane speaks contract 2')
    expect(heard).toEqual([])
  })

  test('that skips the proof, or shows a recorded one, is not obeyed', async () => {
    const setting = await createSetting()
    const relay = await relayTo(setting.controlPlane)
    const witness = AgentProcess.run(relay.url, setting.statePath, { RTE_SERVICE_FINGERPRINT: TRUSTED })
    await setting.controlPlane.isConnected()
    await witness.kill()
    const [challenge = '', proof = ''] = relay.crossed.flatMap(({ from, message }) =>
      from === 'control plane' && typeof message === 'string' ? [message] : [],
    )
    const welcome = { type: 'welcome', state: 'approved', epoch: 1, max_jobs: null, heartbeat_ms: 20_000, speaks: 1 }

    const heard: string[] = []
    const replays = [proof, JSON.stringify(welcome)]
    const agent = await startAgainst((socket) => {
      socket.send(challenge)
      socket.once('message', (data) => {
        heard.push(String(data))
        socket.on('message', (more) => heard.push(String(more)))
        socket.send(replays.shift() ?? '')
      })
    })
    await agent.logged('does not hold the key')
    await waitUntil('the second try', () => heard.length >= 2)
    await agent.logged('welcome came at the wrong time')
    expect(heard.every((message) => message.includes('"type":"greeting"'))).toBe(true)
    expect(heard.join('')).not.toContain('rte-test')
  })
})

describe('somebody between the agent and its control plane, over plain http', () => {
  const offer = (setting: Setting) => {
    const { job, trace } = offerTrace(setting.controlPlane, setting.folder)
    setting.controlPlane.jobs.delete(job.order.job_id)
    return { forged: JSON.stringify({ type: 'offer', order: job.order }), trace }
  }

  test('reads no name, no token, no output; an order that they put in is not run', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    const relay = await relayTo(controlPlane)
    const agent = AgentProcess.run(relay.url, statePath, {
      RTE_SERVICE_FINGERPRINT: TRUSTED,
      RTE_JOIN_TOKEN: 'the-join-token',
    })
    onTestFinished(() => agent.kill())
    await controlPlane.isConnected()
    await waitUntil('the agent tells its jobs', () => controlPlane.inventories[0])
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('what only we know')) })))
    expect((await exactEnd(controlPlane, job)).text).toContain('what only we know')
    const crossed = relay.crossed.map(({ message }) => String(message)).join('')
    for (const word of ['rte-test', 'the-join-token', 'what only we know', 'inventory'])
      expect(crossed).not.toContain(word)

    const { forged, trace } = offer(setting)
    for (const put of [forged, Buffer.concat([Buffer.of(0), Buffer.from(forged), Buffer.alloc(16)])]) {
      const before = controlPlane.hellos.length
      let isPut = false
      relay.meddle = (message, from) => {
        if (from === 'agent' || isPut) return [message]
        isPut = true
        return [message, put]
      }
      controlPlane.send({ type: 'ack', job_id: 999, output: 0, events: 0 })
      await waitUntil('the agent dialled again', () => controlPlane.hellos.length > before)
      relay.meddle = null
      await waitUntil('it is there', () => controlPlane.inventories.length === controlPlane.hellos.length)
    }
    expect(agent.log.filter((line) => line.reason === 'bad_seal')).toHaveLength(2)
    expect(existsSync(trace)).toBe(false)
  })

  test.each([
    ['repeats a message', (message: string | Buffer) => [message, message]],
    ['leaves a message out', () => []],
    ['changes a byte', (message: string | Buffer) => [flipped(message)]],
  ])('who %s only ends the connection', async (_what, meddle) => {
    const setting = await createSetting()
    const relay = await relayTo(setting.controlPlane)
    const agent = AgentProcess.run(relay.url, setting.statePath, { RTE_SERVICE_FINGERPRINT: TRUSTED })
    onTestFinished(() => agent.kill())
    await setting.controlPlane.isConnected()
    await waitUntil('the agent tells its jobs', () => setting.controlPlane.inventories[0])
    let meddled = false
    relay.meddle = (message, from) => {
      if (from === 'agent' || meddled) return [message]
      meddled = true
      return meddle(message)
    }
    // The first is meddled with, the second shows what is missing.
    setting.controlPlane.send({ type: 'ack', job_id: 999, output: 0, events: 0 })
    setting.controlPlane.send({ type: 'ack', job_id: 999, output: 0, events: 0 })
    expect(await agent.logged('not sealed with the keys')).toMatchObject({ reason: 'bad_seal' })
    await waitUntil('the agent is there again', () => setting.controlPlane.inventories[1])
  })

  test('who says that the control plane does no TLS, or ends TLS in its place, is found out', async () => {
    const setting = await createSetting()
    const relay = await relayTo(setting.controlPlane)
    relay.meddle = (message, from) => [
      from === 'control plane' && typeof message === 'string'
        ? message.replace('\\"tls\\":false', '\\"tls\\":true')
        : message,
    ]
    const agent = AgentProcess.run(relay.url, setting.statePath, { RTE_SERVICE_FINGERPRINT: TRUSTED })
    onTestFinished(() => agent.kill())
    await agent.logged('it speaks TLS, and this connection has none')
    relay.meddle = (message, from) => [
      from === 'control plane' && typeof message === 'string'
        ? message.replace('\\"succession\\":[]', '\\"succession\\": []')
        : message,
    ]
    await agent.logged('does not hold the key')
    expect(setting.controlPlane.hellos).toEqual([])
  })
})

describe('whom a runner trusts', () => {
  test('is the control plane that approves it first, kept for its owner only; a changed key later is refused while its playbook goes on', async () => {
    const setting = await createSetting()
    const { controlPlane, folder, join: joinApp } = setting
    controlPlane.state = 'waiting'
    const agent = await joinApp()
    await agent.logged('trusts no control plane yet')
    expect(existsSync(join(setting.statePath, 'control-plane'))).toBe(false)
    controlPlane.approve()
    await waitUntil('the inventory came', () => controlPlane.inventories[0])
    expect(trustFile(setting)).toMatchObject({ fingerprint: TRUSTED, how: 'first use' })
    expect(statSync(join(setting.statePath, 'control-plane')).mode & 0o777).toBe(0o600)

    const [started, gate] = [join(folder, 'started'), join(folder, 'gate')]
    const tasks = [leaveTrace(started), waitForFile(gate), say('done at last')]
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(...tasks) })))
    await waitUntil('the playbook runs', () => existsSync(started))
    controlPlane.service = newServiceIdentity()
    controlPlane.cut()
    await agent.logged('shows another key')
    const { trace } = offerTrace(controlPlane, folder)
    writeFileSync(gate, '')
    await waitUntil('the playbook has ended', () => agent.log.find((line) => line.msg === 'job ended'))
    expect(existsSync(trace)).toBe(false)
    expect(job.end).toBeNull()
    controlPlane.service = TEST_SERVICE
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(readFileSync(started, 'utf8')).toBe('run\n')
  })

  test('is whom the join token names: another one does not even get the token', async () => {
    const setting = await createSetting()
    const token = joinTokenOf('the-join-token', fingerprintOfService(newServiceIdentity()))
    const agent = setting.start({ RTE_JOIN_TOKEN: token })
    await agent.logged('shows another key')
    expect(setting.controlPlane.hellos).toEqual([])
    await agent.kill()
    // A new token of the right control plane is a new decision.
    await setting.join({ RTE_JOIN_TOKEN: joinTokenOf('the-join-token', TRUSTED) })
    expect(trustFile(setting)).toMatchObject({ fingerprint: TRUSTED, how: 'setting', given: TRUSTED })
  })

  test('is whom `holdfast-runner trust` names, with the agent running or not, also over an older setting', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    const environment = { RTE_STATE_PATH: statePath }
    const settings = { RTE_SERVICE_FINGERPRINT: TRUSTED }
    const agent = await setting.join(settings)
    controlPlane.service = newServiceIdentity()
    controlPlane.cut()
    const { shown = '' } = (await agent.logged('shows another key')) as { shown?: string }
    const wrong = await AgentProcess.command(['trust', '--fingerprint', 'SHA256:short'], environment)
    expect(wrong).toMatchObject({ code: 2, errors: expect.stringContaining('the fingerprint must be SHA256:') })
    expect(await AgentProcess.command(['trust', '--fingerprint', shown], environment)).toMatchObject({
      code: 0,
      output: `${shown}\n`,
    })
    await controlPlane.isConnected()
    await agent.kill()
    await (await setting.join(settings)).kill()
    await AgentProcess.command(['trust', '--fingerprint', TRUSTED], environment)
    await setting.start(settings).logged('shows another key')
  })

  test('is nobody while the file cannot be read', async () => {
    const setting = await createSetting()
    await (await setting.join()).kill()
    writeFileSync(join(setting.statePath, 'control-plane'), '{"fingerprint":')
    const { length } = setting.controlPlane.hellos
    const agent = setting.start()
    expect((await agent.exited()).code).toBe(1)
    expect(agent.errors).toContain('name the control plane with holdfast-runner trust')
    expect(setting.controlPlane.hellos).toHaveLength(length)
    await AgentProcess.command(['trust', '--fingerprint', TRUSTED], { RTE_STATE_PATH: setting.statePath })
    await setting.join()
  })

  test('follows the key that the old one signed, also over two rotations, and no other', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    const agent = await setting.join()
    const first = successorOf(TEST_SERVICE)
    const thief = newServiceIdentity()
    const forgeries: ServiceIdentity[] = [
      successorOf(TEST_SERVICE, thief.privatePem),
      { ...thief, succession: first.succession },
      { ...successorOf(successorOf(thief)), succession: successorOf(first).succession },
    ]
    for (const forgery of forgeries) {
      const before = agent.log.length
      controlPlane.service = forgery
      controlPlane.cut()
      await waitUntil('it is refused', () =>
        agent.log.slice(before).some((line) => line.shown === fingerprintOfService(forgery)),
      )
    }
    await agent.kill()
    controlPlane.service = successorOf(first)
    await setting.join()
    expect(trustFile(setting)).toMatchObject({
      fingerprint: fingerprintOfService(controlPlane.service),
      how: 'succession',
    })
  })
})

describe('a password over plain http', () => {
  test('is sent to another machine only when somebody says so, and to this one as before', async () => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url ?? '')
      response.writeHead(503).end('{"error":"not now"}')
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    // To the rule 0.0.0.0 is another machine; to the system it is this one.
    const login = (host: string, ...more: string[]) =>
      newPerson().run(['login', '--server', `http://${host}:${port}`, '-u', 'a', '--password-stdin', ...more], {
        input: 'the password\n',
      })
    const refused = await login('0.0.0.0')
    expect(refused.stderr).toContain('is plain http: anybody on the way could read the password')
    expect([refused.code, asked]).toEqual([2, []])
    await login('0.0.0.0', '--insecure')
    expect(asked).toHaveLength(1)
    await login('127.0.0.1')
    expect(asked).toHaveLength(2)
  })
})

const flipped = (message: string | Buffer): string | Buffer => {
  if (typeof message === 'string') return message
  const bytes = Buffer.from(message)
  bytes[5] = (bytes[5] ?? 0) ^ 1
  return bytes
}

async function relayTo(controlPlane: FakeControlPlane): Promise<Relay> {
  const relay = await startRelay(controlPlane.url)
  onTestFinished(() => relay.close())
  return relay
}

/** An agent that trusts the control plane of the tests, and meets a server that does something else. */
async function startAgainst(greet: (socket: WebSocket) => void): Promise<AgentProcess> {
  const setting = await createSetting()
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: SOCKET_PATH })
  server.on('connection', greet)
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return setting.start({ APP_URL: `http://127.0.0.1:${port}`, RTE_SERVICE_FINGERPRINT: TRUSTED })
}
