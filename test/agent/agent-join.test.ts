import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { CLOSE_REASONS, fingerprintOf } from '@holdfast/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { AgentProcess } from './agent-process.js'
import { orderOf, play, publish, say } from './playbooks.js'
import { createSetting, exactEnd } from './setting.js'
import { TEST_CERTIFICATE } from '../support/test-certificate.js'
import { waitUntil } from './waiting.js'
import { covers } from '../interface/covers.js'

describe('joining', () => {
  test('an agent waits for approval without a word about jobs, then takes jobs', async () => {
    covers('monitoring.agent')
    const { controlPlane, join: joinApp } = await createSetting()
    controlPlane.state = 'waiting'
    const agent = await joinApp({ RTE_JOIN_TOKEN: 'the-join-token', RTE_MAX_JOBS: '3' })
    const [hello] = controlPlane.hellos
    const fingerprint = fingerprintOf(hello?.identity_key ?? '')
    expect(hello).toMatchObject({ name: 'rte-test', generation: 1, join_token: 'the-join-token', max_jobs: 3 })
    expect(hello?.ansible_version).toBe('2.14.0')
    expect(await agent.logged('waiting for approval')).toMatchObject({ name: 'rte-test', fingerprint })
    await agent.logged('the join token is unknown, used or expired, so an admin has to approve this runner')
    expect(await agent.probe('/live')).toEqual({ status: 200, body: '{"status":"live"}' })
    expect(await agent.probe('/ready')).toEqual({
      status: 503,
      body: '{"status":"not ready","reason":"waiting for approval: the join token is unknown, used or expired","isolation":"none"}',
    })
    expect(controlPlane.inventories).toEqual([])

    controlPlane.approve()
    await waitUntil('the inventory came', () => controlPlane.inventories[0])
    expect(await agent.probe('/ready')).toMatchObject({ status: 200 })
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('hello')) })))
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'exited', exit_code: 0 })
    const metrics = await agent.probe('/metrics')
    expect(metrics.body).toMatch(/^af_rte_running_jobs 0$/m)
    expect(metrics.body).toMatch(/^af_rte_max_jobs 3$/m)
    expect(metrics.body).toMatch(/^holdfast_rte_connected 1$/m)
    expect(agent.output + agent.errors).not.toContain('the-join-token')
  })

  test('a refusal that needs a person is one clear line and waits the longest back-off', async () => {
    const { controlPlane, start } = await createSetting()
    controlPlane.refuse = 'revoked'
    const agent = start()
    const line = await agent.logged('cannot join the control plane: an admin revoked this runner')
    expect(line).toMatchObject({ level: 'warn', reason: 'revoked', retry_ms: 30_000 })
    expect((await agent.probe('/ready')).body).toContain('revoked: an admin revoked this runner')
  })

  test.each([
    ['denied', 'denied: the control plane knows the name of this runner with another key'],
    ['rejected', 'rejected: an admin rejected the request of this runner; it asks again'],
    ['clone', 'refused as a clone: another process continues the identity of this runner'],
  ] as const)('/ready says that it was refused as %s, until it is welcomed', async (refusal, words) => {
    const { controlPlane, start } = await createSetting()
    controlPlane.refuse = refusal
    const agent = start()
    expect(await agent.logged('cannot join the control plane: ')).toMatchObject({ reason: refusal })
    expect(await agent.probe('/ready')).toMatchObject({
      status: 503,
      body: expect.stringContaining(`"reason":"${words}"`) as string,
    })
    if (refusal !== 'rejected') return
    // It asks again after seconds. The others wait the longest back-off.
    controlPlane.refuse = null
    await waitUntil('it takes jobs', async () => (await agent.probe('/ready')).status === 200)
  })

  test('/ready says at once that a connected runner was revoked', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    const agent = await joinApp()
    const { socket } = await controlPlane.isConnected()
    controlPlane.refuse = 'revoked'
    socket.close(CLOSE_REASONS.revoked.code, CLOSE_REASONS.revoked.meaning)
    expect(await agent.logged('the connection to the control plane ended')).toMatchObject({ retry_ms: 30_000 })
    expect((await agent.probe('/ready')).body).toContain('revoked: an admin revoked this runner')
  })

  test('an app that comes back is joined again, each start being a new generation of the same key', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    const agent = await joinApp()
    controlPlane.cut()
    await controlPlane.isConnected()
    await agent.kill()
    await waitUntil('the socket is closed', () => controlPlane.connected === null)
    await joinApp()
    const [first, again, restarted] = controlPlane.hellos
    expect(again).toMatchObject({ identity_key: first?.identity_key, generation: 1, instance: first?.instance })
    expect(restarted).toMatchObject({ identity_key: first?.identity_key, generation: 2 })
    expect(restarted?.instance).not.toBe(first?.instance)
  })

  test('a connection on which nothing comes any more is given up after two heartbeats, and dialled anew', async () => {
    const { controlPlane, start } = await createSetting()
    controlPlane.heartbeatMs = 200
    const agent = start()
    const { socket } = await controlPlane.isConnected()
    await waitUntil('heartbeats come', () => controlPlane.statuses.length > 3)
    // The other side is there still, but it neither reads nor says anything: a half-open connection.
    socket.pause()
    expect(await agent.logged('nothing came from the control plane for two heartbeats')).toMatchObject({
      reason: 'heartbeat_lost',
    })
    await waitUntil('it has dialled again', () => controlPlane.hellos.length > 1)
    socket.terminate()
  })
})

describe('the way to the control plane', () => {
  test('a certificate of an unknown authority is refused, unless a setting or an authority says otherwise', async () => {
    const { controlPlane, folder, start } = await createSetting(TEST_CERTIFICATE)
    const wary = start()
    await wary.logged('cannot join the control plane: self-signed certificate')
    await wary.kill()
    expect(controlPlane.hellos).toHaveLength(0)
    const trusting = start({ APP_TLS_VERIFY: '0' })
    await controlPlane.isConnected()
    await trusting.kill()
    await waitUntil('the socket is closed', () => controlPlane.connected === null)
    writeFileSync(join(folder, 'authority.pem'), TEST_CERTIFICATE.cert)
    start({ NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') })
    await controlPlane.isConnected()
  })

  test('HTTPS_PROXY is dialled through, with its password, and NO_PROXY names what is not', async () => {
    const { controlPlane, start } = await createSetting(TEST_CERTIFICATE)
    const asked: { target: string; authorization: string | undefined }[] = []
    const proxy = createServer()
    proxy.on('connect', (request, client: Socket) => {
      asked.push({ target: request.url ?? '', authorization: request.headers['proxy-authorization'] })
      const [host = '', port = ''] = (request.url ?? '').split(':')
      const server = connect(Number(port), host, () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        client.pipe(server).pipe(client)
      })
      for (const socket of [client, server]) socket.on('error', () => undefined)
      client.once('close', () => server.destroy())
      server.once('close', () => client.destroy())
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void proxy.close())
    const address = `http://me:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const through = start({ APP_TLS_VERIFY: '0', https_proxy: address })
    await controlPlane.isConnected()
    const target = new URL(controlPlane.url).host
    expect(asked).toEqual([{ target, authorization: `Basic ${Buffer.from('me:secret').toString('base64')}` }])
    expect(through.output + through.errors).not.toContain('secret')
    await through.kill()
    await waitUntil('the socket is closed', () => controlPlane.connected === null)
    start({ APP_TLS_VERIFY: '0', HTTPS_PROXY: address, NO_PROXY: 'localhost, 127.0.0.1' })
    await controlPlane.isConnected()
    expect(asked).toHaveLength(1)
  })
})

describe('one agent per state folder', () => {
  test('a second agent is refused and told the pid of the first', async () => {
    const { statePath, controlPlane, join: joinApp } = await createSetting()
    const first = await joinApp()
    const second = await AgentProcess.command(['run'], {
      APP_URL: controlPlane.url,
      RTE_STATE_PATH: statePath,
      PORT: '0',
    })
    expect(second.code).toBe(3)
    expect(second.errors).toBe(
      `holdfast-runner: another agent (pid ${first.pid}) works on the state folder ${statePath}; stop it or give this one another folder\n`,
    )
    expect(controlPlane.hellos).toHaveLength(1)
  })
})

describe('commands and settings', () => {
  test('fingerprint makes the key once and prints it', async () => {
    const { statePath } = await createSetting()
    const first = await AgentProcess.command(['fingerprint', '--rte-state-path', statePath])
    const second = await AgentProcess.command(['fingerprint'], { RTE_STATE_PATH: statePath })
    expect(first).toMatchObject({ code: 0, errors: '' })
    expect(first.output).toMatch(/^SHA256:[A-Za-z0-9+/]{43}\n$/)
    expect(second).toEqual(first)
    expect(statSync(join(statePath, 'identity')).mode & 0o777).toBe(0o600)
  })

  test('a broken identity stops the start and is not replaced', async () => {
    const { statePath } = await createSetting()
    mkdirSync(statePath)
    writeFileSync(join(statePath, 'identity'), 'not a key')
    const result = await AgentProcess.command(['fingerprint', '--rte-state-path', statePath])
    expect(result.code).toBe(1)
    expect(result.errors).toContain('identity')
    expect(readFileSync(join(statePath, 'identity'), 'utf8')).toBe('not a key')
  })

  test('wrong settings stop the start with one line', async () => {
    const app = { APP_URL: 'http://app' }
    const cases: [Record<string, string>, string][] = [
      [{}, 'APP_URL: is required'],
      [{ APP_URL: 'ftp://app' }, 'APP_URL: must be an http:// or https:// address'],
      [{ ...app, HTTPS_PROXY: 'proxy:3128' }, 'HTTPS_PROXY: must be an http:// or https:// address'],
      [{ RTE_MODE: 'inbound' }, 'RTE_SERVICE_FINGERPRINT: is required with RTE_MODE=inbound'],
      [{ ...app, RTE_MODE: 'sideways' }, 'RTE_MODE: must be one of outbound, inbound'],
      [{ ...app, RTE_MAX_JOBS: 'many' }, 'RTE_MAX_JOBS: must be a whole number'],
      [{ ...app, RTE_NAME: 'two words' }, 'RTE_NAME: must be'],
      [{ ...app, RTE_FILES: 'local' }, 'ANSIBLE_PATH: is required with RTE_FILES=local'],
      [{ ...app, RTE_JOIN_TOKEN_FILE: '/nowhere/token' }, 'RTE_JOIN_TOKEN_FILE: cannot read /nowhere/token'],
    ]
    await Promise.all(
      cases.map(async ([environment, line]) => {
        const result = await AgentProcess.command(['run'], environment)
        expect(result).toMatchObject({ code: 2, output: '' })
        expect(result.errors).toMatch(/^holdfast-runner: [^\n]+\n$/)
        expect(result.errors).toContain(line)
      }),
    )
  })

  test('an unknown flag or command is one line, too', async () => {
    const [flag, command] = await Promise.all([
      AgentProcess.command(['run', '--bogus', '1']),
      AgentProcess.command(['walk']),
    ])
    expect(flag).toMatchObject({ code: 2, errors: 'holdfast-runner: Unknown argument: bogus\n' })
    expect(command).toMatchObject({ code: 2, errors: 'holdfast-runner: Unknown argument: walk\n' })
  })

  test('help names every setting as a flag', async () => {
    const { output } = await AgentProcess.command(['run', '--help'])
    for (const flag of ['--app-url', '--rte-name', '--rte-on-stop', '--rte-cache-mb', '--log-format', '--port']) {
      expect(output).toContain(flag)
    }
  })
})
