import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../support/postgres.js'
import { startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'

/** What another user of the host, or a stranger on the network, could learn. */
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

test('nobody but its owner may read the database, whatever mode an older release left it with', async () => {
  const product = await startProduct({
    database: 'sqlite',
    withAgent: false,
    prepare: async (folder) => {
      writeFileSync(join(folder, 'persistent/holdfast.db'), '', { mode: 0o644 })
      return Promise.resolve({ controlPlane: {}, agent: {} })
    },
  })
  onTestFinished(() => product.close())
  const database = join(product.folder, 'persistent/holdfast.db')
  expect(['', '-wal', '-shm'].map((end) => modeOf(database + end))).toEqual(['600', '600', '600'])
})

const OUR_PAGE = { 'sec-fetch-site': 'same-origin', 'x-holdfast-page': '1' }
const PASSWORD = { username: 'admin', password: 'wrong password' }
const JWT = {
  authorization: `Bearer ${['{"alg":"HS256"}', '{"sub":"1"}', 'x'].map((part) => Buffer.from(part).toString('base64url')).join('.')}`,
}
/** What can be asked without being signed in, or with something that only the database could tell from a sign-in. */
const BEFORE_SIGN_IN: readonly [path: string, body?: object, headers?: Record<string, string>][] = [
  ...['live', 'version', 'schema', 'app/config', 'logo', 'auth/logout', 'auth/settings', 'metrics', 'docs'].map(
    (name): [string] => [`/api/v2/${name}`],
  ),
  ...['oidc', 'oidc/callback?code=1&state=2', 'azuread', 'azuread/callback?error=x', 'confirm?ticket=1'].map(
    (name): [string] => [`/api/v2/auth/${name}`],
  ),
  ['/api/v2/auth/login', PASSWORD],
  ['/api/v2/auth/session', PASSWORD],
  ['/api/v2/token', { refreshtoken: '1.secret' }],
  ...['/api/v2/job', '/api/v2/profile', '/api/v2/events', '/', '/jobs', '/sign-in'].map((path): [string] => [path]),
  ['/api/v2/profile', undefined, JWT],
  ['/api/v2/profile', undefined, { authorization: 'Bearer 1.secret' }],
]

test('a database that is away is told to nobody by its address', async () => {
  const server = await startPostgres()
  onTestFinished(() => server.close())
  const product = await startProduct({ database: server, withAgent: false })
  onTestFinished(() => product.close())
  const ask = async (path: string, body?: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(product.address + path, {
      method: body ? 'POST' : 'GET',
      redirect: 'manual',
      headers: body ? { 'content-type': 'application/json', ...headers } : headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: answer.status, text: await answer.text() }
  }
  await server.kill()
  const ready = await waitFor('the service to notice', async () => {
    const answer = await ask('/api/v2/ready')
    return answer.status === 503 ? answer : null
  })
  const cookie = { ...OUR_PAGE, cookie: 'holdfast_session=1.secret; __Host-holdfast_session=1.secret' }
  const asked = BEFORE_SIGN_IN.map(([path, body, headers]) => ask(path, body, headers ?? cookie))
  const answers = [ready, ...(await Promise.all(asked))]
  expect(answers.filter(({ status }) => status >= 500).length).toBeGreaterThan(5)
  for (const { text } of answers) {
    expect(text).not.toMatch(/127\.0\.0\.1|localhost|ECONNREFUSED|postgres|:\d{4,5}/i)
    expect(text).not.toContain(String(server.port))
  }
})
