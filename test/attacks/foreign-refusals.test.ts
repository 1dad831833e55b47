import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { startServer } from '../api/server.js'
import { createBrowser } from '../support/browser.js'
import { startForgingProvider } from '../support/forging-provider.js'

/** Other systems may repeat in a refusal what they were sent. Nothing of that is stored, logged or shown. */

const PASSWORD = 'hush "canary" pässword'
const base64 = (text: string) => Buffer.from(text).toString('base64')
const opened: { close(): unknown }[] = []
afterAll(() => Promise.all(opened.map((one) => one.close())))

/** No secret and no part of one that is long enough to be guessed from. */
function expectHidden(texts: readonly string[], secrets: readonly string[]): void {
  for (const text of texts) for (const secret of secrets) expect(text).not.toContain(secret)
}

/** A mail server that repeats what a login sent, in clear, too, and a lot of other bytes. */
async function startTalkativeMailServer(user: string) {
  const server = createServer((socket) => {
    let isLogin = false
    socket.on('error', () => undefined)
    socket.write('220 mail.example.com\r\n')
    socket.on('data', (bytes) => {
      const line = bytes.toString().trim()
      if (line.startsWith('EHLO')) socket.write(`250-mail.example.com\r\n250 AUTH PLAIN\r\n`)
      else if (line.startsWith('AUTH') || isLogin) {
        isLogin = true
        const clear = Buffer.from(line.split(' ').at(-1) ?? '', 'base64').toString()
        const alone = base64(`${user}:${PASSWORD}`)
        socket.write(
          `535 5.7.8 refused: ${line} as ${clear} \u001b[2J ${alone} ${base64(PASSWORD)} ${'x'.repeat(400)}\r\n`,
        )
      } else socket.end('221 bye\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(server)
  return (server.address() as AddressInfo).port
}

test('the refusal of a mail server hides the password, in clear and in base64', async () => {
  const log: string[] = []
  const port = await startTalkativeMailServer('robot')
  const server = await startServer({
    log,
    settings: {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(port),
      SMTP_TLS: 'none',
      SMTP_USER: 'robot',
      SMTP_PASSWORD: PASSWORD,
      MAIL_FROM: 'holdfast@example.com',
    },
  })
  opened.push(server)
  const sent = await server.call('POST', '/notification/test-mail', {
    token: server.admin,
    json: { to: 'a@example.com' },
  })
  expect(sent.text).toContain('535')
  const listed = await server.call('GET', '/notification', { token: server.admin })
  const rows = await server.store.read.selectFrom('notification_delivery').selectAll().execute()
  expectHidden(
    [sent.text, listed.text, JSON.stringify(rows), ...log],
    [
      PASSWORD,
      'canary',
      'pässword',
      base64(`\0robot\0${PASSWORD}`),
      base64(PASSWORD),
      base64(`robot:${PASSWORD}`),
      '\\u001b',
    ],
  )
  expect(String((sent.body as { problem?: unknown }).problem ?? sent.text).length).toBeLessThan(1500)
})

/** A server that repeats all that it gets, as JSON of Vault. */
async function startEcho(status: number) {
  const server = createHttpServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const said = `${JSON.stringify(request.headers)} ${Buffer.concat(parts).toString()}`
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ errors: [said] }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(server)
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ASKS = `name: asks
type: ansible
roles: [default]
playbook: x.yml
fields: [{name: x, type: expression, expression: "fn.fnRestBasic('GET', 'http://127.0.0.1:1/', '', 'api')"}]
`

describe('a refusal of Vault hides what was sent', () => {
  test.each([
    ['a token', { VAULT_TOKEN: 'hvs.canary-token-1' }, ['hvs.canary-token-1']],
    ['an AppRole login', { VAULT_ROLE_ID: 'the-canary-role', VAULT_SECRET_ID: 'the-canary-id' }, ['the-canary-id']],
  ])('%s', async (_of, login, secrets) => {
    const log: string[] = []
    const server = await startServer({
      log,
      forms: { 'asks.yml': ASKS },
      settings: { VAULT_ADDR: await startEcho(400), ...login, REST_ALLOWED_HOSTS: '127.0.0.1' },
    })
    opened.push(server)
    await server.writeCredentials('- {name: api, type: userpass, user: u, password: "vault:secret/api"}\n')
    const answer = await server.call('POST', '/forms/asks/evaluate', {
      token: server.admin,
      json: { rawFormData: {}, wait: 20 },
    })
    expect(answer.text).toContain('Vault')
    expectHidden([answer.text, ...log], secrets)
  })
})

test('the refusal of a sign-in provider hides the client secret, the code and the verifier', async () => {
  const publicUrl = 'https://jobs.example.com'
  const provider = await startForgingProvider()
  opened.push(provider)
  const log: string[] = []
  const server = await startServer({
    log,
    settings: { PUBLIC_URL: publicUrl },
    config: `roles: [{name: admin, groups: [local/admins]}]
oidc: {issuer: "${provider.issuer}", clientId: holdfast, clientCredential: provider}
`,
  })
  opened.push(server)
  await server.writeCredentials(
    `- {name: provider, type: userpass, user: holdfast, password: ${JSON.stringify(PASSWORD)}}\n`,
  )
  const browser = createBrowser({ [publicUrl]: server.url })
  const { address } = await browser.open(`${publicUrl}/api/v2/auth/oidc`, ({ origin }) => origin === provider.issuer)
  const said = `${base64(`holdfast:${PASSWORD}`)} ${PASSWORD} ${encodeURIComponent(PASSWORD)} the-canary-code\u001b ${'x'.repeat(5000)}`
  provider.forge({
    claims: {},
    answer: { status: 400, body: JSON.stringify({ error: said, error_description: said }) },
  })
  const state = address.searchParams.get('state') ?? ''
  const page = await browser.open(`${publicUrl}/api/v2/auth/oidc/callback?state=${state}&code=the-canary-code`)
  expect(page.status).toBe(401)
  const lines = log.filter((line) => line.includes('sign-in'))
  expect(lines.join('\n')).toContain('********')
  expectHidden(
    [page.text, ...lines],
    ['canary', encodeURIComponent('pässword'), base64(`holdfast:${PASSWORD}`), base64(PASSWORD).slice(4, -4)],
  )
  for (const line of lines) expect(line.length).toBeLessThan(2000)
})

test('a REST service that sends a client on shows nothing of what it was sent', async () => {
  const server = await startServer({
    settings: { REST_ALLOWED_HOSTS: '127.0.0.1' },
  })
  opened.push(server)
  const service = createHttpServer((request, response) => {
    const sent = String(request.headers.authorization)
    if (!request.url?.startsWith('/next')) {
      response.writeHead(302, { location: `/next/${encodeURIComponent(sent)}/${sent.split(' ')[1]}` }).end()
    } else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  opened.push(service)
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/`
  await server.writeForm('asks.yml', ASKS.replace('http://127.0.0.1:1/', url))
  await server.writeCredentials('- {name: api, type: userpass, user: robot, password: canary-of-rest}\n')
  const answer = await server.call('POST', '/forms/asks/evaluate', {
    token: server.admin,
    json: { rawFormData: {}, wait: 20 },
  })
  expect(answer.text).toContain('404')
  expectHidden([answer.text], [base64('robot:canary-of-rest'), encodeURIComponent(base64('robot:canary-of-rest'))])
})
