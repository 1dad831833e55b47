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

test('a database that is away is told to nobody by its address', async () => {
  const server = await startPostgres()
  onTestFinished(() => server.close())
  const product = await startProduct({ database: server, withAgent: false })
  onTestFinished(() => product.close())
  const ask = async (path: string, body?: object) => {
    const answer = await fetch(product.address + path, {
      method: body ? 'POST' : 'GET',
      ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
    })
    return { status: answer.status, text: await answer.text() }
  }
  await server.kill()
  const ready = await waitFor('the service to notice', async () => {
    const answer = await ask('/api/v2/ready')
    return answer.status === 503 ? answer : null
  })
  const signIn = await ask('/api/v2/auth/login', { username: 'admin', password: 'wrong password' })
  const metrics = await ask('/api/v2/metrics')
  expect(signIn.status).toBe(503)
  for (const { text } of [ready, signIn, metrics]) {
    expect(text).not.toMatch(/127\.0\.0\.1|localhost|ECONNREFUSED|postgres|:\d{4,5}/i)
    expect(text).not.toContain(String(server.port))
  }
})
