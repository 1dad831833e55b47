import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningProcess, startProgram } from '../support/process.js'
import { ADMIN_PASSWORD, ROOT } from '../support/product.js'
import { RENEWED_CERTIFICATE, TEST_CERTIFICATE } from '../support/test-certificate.js'
import { waitFor } from '../support/wait.js'

/** Both programs over TLS with an authority of one's own, below a base URL. */
let folder: string
let controlPlane: RunningProcess
let agent: RunningProcess | null = null
let address: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))
  writeFileSync(join(folder, 'cert.pem'), TEST_CERTIFICATE.cert)
  writeFileSync(join(folder, 'key.pem'), TEST_CERTIFICATE.key)
  controlPlane = startProgram(join(ROOT, 'control-plane/bin/holdfast.js'), ['serve'], {
    PERSISTENT_PATH: join(folder, 'persistent'),
    PORT: '0',
    BASE_URL: '/jobs',
    HTTPS: '1',
    HTTPS_CERT: join(folder, 'cert.pem'),
    HTTPS_KEY: join(folder, 'key.pem'),
    ADMIN_PASSWORD,
    LOG_FORMAT: 'json',
  })
  address = await waitFor('the control plane to listen', () => /"address":"([^"]+)"/.exec(controlPlane.said())?.[1])
})

afterAll(async () => {
  await agent?.stop('SIGKILL')
  await controlPlane.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A request that trusts only the certificate of this test. */
function ask(
  method: string,
  path: string,
  token: string | null,
  body?: object,
): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${address}/api/v2${path}`,
      {
        method,
        agent: new Agent({ ca: TEST_CERTIFICATE.cert }),
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) }))
      },
    )
    asked.on('error', reject)
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

test('a runner joins over TLS, below a base URL', async () => {
  expect(address).toMatch(/^https:\/\/.+\/jobs$/)
  expect(await ask('GET', '/live', null)).toEqual({ status: 200, body: { status: 'live' } })
  const signedIn = await ask('POST', '/auth/login', null, { username: 'admin', password: ADMIN_PASSWORD })
  const { token } = signedIn.body as { token: string }
  const joinToken = (await ask('POST', '/runner/join-tokens', token, {})).body as { token: string }
  agent = startProgram(join(ROOT, 'runner-agent/bin/holdfast-runner.js'), ['run'], {
    APP_URL: address,
    RTE_NAME: 'over-tls',
    RTE_JOIN_TOKEN: joinToken.token,
    RTE_STATE_PATH: join(folder, 'rte-state'),
    NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem'),
    PORT: '0',
    LOG_FORMAT: 'json',
  })
  await waitFor('the runner to be online', async () => {
    const { body } = await ask('GET', '/runner', token)
    return (body as { records: { name: string; online: boolean }[] }).records.some(
      (runner) => runner.name === 'over-tls' && runner.online,
    )
  })
  expect(agent.said()).not.toContain(joinToken.token)
})

/** What certificate a new connection is shown, as base64. */
function shownCertificate(): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(address)
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().raw.toString('base64'))
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

test('SIGHUP shows a renewed certificate; a wrong one changes nothing and is said; the runner stays', async () => {
  const renewed = new X509Certificate(RENEWED_CERTIFICATE.cert).raw.toString('base64')
  writeFileSync(join(folder, 'key.pem'), RENEWED_CERTIFICATE.key)
  writeFileSync(join(folder, 'cert.pem'), 'no certificate')
  process.kill(controlPlane.pid, 'SIGHUP')
  await waitFor('the problem to be said', () => controlPlane.said().includes('the certificate was not changed'))
  expect(await shownCertificate()).toBe(new X509Certificate(TEST_CERTIFICATE.cert).raw.toString('base64'))
  writeFileSync(join(folder, 'cert.pem'), RENEWED_CERTIFICATE.cert)
  process.kill(controlPlane.pid, 'SIGHUP')
  await waitFor('the renewed certificate', async () => (await shownCertificate()) === renewed)
  expect(controlPlane.isRunning()).toBe(true)
  expect(agent?.said().match(/connected to the control plane and approved/g)).toHaveLength(1)
})

test('a wrong certificate ends the start with a sentence, before anything is made', async () => {
  const wrong = startProgram(join(ROOT, 'control-plane/bin/holdfast.js'), ['serve'], {
    PERSISTENT_PATH: join(folder, 'never'),
    PORT: '0',
    HTTPS: '1',
    HTTPS_CERT: join(folder, 'key.pem'),
    HTTPS_KEY: join(folder, 'cert.pem'),
  })
  expect(await wrong.exited).toEqual({ code: 2, signal: null })
  expect(wrong.said()).toMatch(/^holdfast: HTTPS_CERT, HTTPS_KEY: .+\n$/)
})
