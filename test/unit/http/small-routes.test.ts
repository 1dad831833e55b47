import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { RoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'
import { UnavailableError } from '../../../control-plane/src/errors.js'
import { roleRoutes } from '../../../control-plane/src/http/accounts/role.js'
import { lockRoutes } from '../../../control-plane/src/http/forms/lock.js'
import { uploadRoutes } from '../../../control-plane/src/http/forms/upload.js'
import { monitoringRoutes } from '../../../control-plane/src/http/service/monitoring.js'
import { pageStartRoutes } from '../../../control-plane/src/http/service/page-start.js'
import { heldTimers } from '../../api/held-timers.js'
import { waitFor } from '../../support/wait.js'
import { ADMIN, ANN, routeApp } from './route-app.js'

describe('the lock of the designer', () => {
  const LOCK = { holder: 'ldap/eve/x', holderId: 7, takenAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678), touchedAt: 0 }
  const lockOf = async (lock: typeof LOCK | null, caller = ANN) => {
    const fake = { read: async () => lock, take: async () => lock, release: async () => lock !== null }
    return routeApp(lockRoutes({ lock: fake as never }), caller)
  }

  test('is free', async () => {
    const { call } = await lockOf(null)
    expect((await call('GET', '/lock')).body).toEqual({
      locked: false,
      holder: null,
      since: null,
      until: null,
      mine: false,
      free: true,
    })
  })

  test.each([
    [7, true],
    [8, false],
  ])('names who has it, and since when', async (holderId, isMine) => {
    const { call } = await lockOf({ ...LOCK, holderId })
    expect((await call('GET', '/lock')).body).toEqual({
      locked: true,
      holder: 'ldap/eve/x',
      since: '2026-01-02T03:04:05.678Z',
      until: '1970-01-01T00:10:00.000Z',
      mine: isMine,
      free: false,
      match: isMine,
      lock: { type: 'ldap', username: 'eve/x', created: '2026-01-02 03:04:05' },
    })
  })

  test('is taken and released by admins', async () => {
    const { call } = await lockOf({ ...LOCK, holderId: 1 }, ADMIN)
    expect((await call('POST', '/lock')).body).toMatchObject({ mine: true, message: 'The lock is yours' })
    expect((await call('DELETE', '/lock')).body).toEqual({ message: 'The lock was released' })
    expect((await (await lockOf(null, ADMIN)).call('DELETE', '/lock')).body).toEqual({ message: 'The lock was free' })
    expect((await (await lockOf(null)).call('POST', '/lock')).status).toBe(403)
  })
})

describe('the roles', () => {
  const user = (id: number, groups: readonly string[]) => ({
    id,
    username: `u${id}`,
    type: 'local',
    email: null,
    groups,
    enabled: true,
    nameHadBy: null,
  })
  const rolesOf = async (users: readonly object[]) => {
    const config = {
      roles: [
        { name: 'admin', groups: [] },
        { name: 'ops', groups: ['local/ops'], runners: ['north'] },
        { name: 'default', groups: [] },
        { name: 'public', groups: [] },
      ],
    } as unknown as RoleConfig
    const deps = { accounts: { list: async () => users }, roles: { current: async () => config } }
    const { call } = await routeApp(roleRoutes(deps as never), ADMIN)
    return (await call('GET', '/role')).body.records as { name: string; accounts: unknown[]; account_count: number }[]
  }

  test('have their members, but those that everyone has name nobody', async () => {
    const records = await rolesOf([user(1, ['ops']), user(2, []), user(3, ['ops'])])
    expect(records).toMatchObject([
      { name: 'admin', everyone: false, account_count: 0, runners: null, credentials: null, scopes: null },
      {
        name: 'ops',
        everyone: false,
        runners: ['north'],
        accounts: [
          { id: 1, username: 'u1', type: 'local', enabled: true },
          { id: 3, username: 'u3' },
        ],
        account_count: 2,
      },
      { name: 'default', everyone: true, accounts: [] },
      { name: 'public', everyone: true, accounts: [] },
    ])
  })

  test('name up to 200 members, and count all', async () => {
    const many = Array.from({ length: 201 }, (_, id) => user(id, ['ops']))
    const ops = (await rolesOf(many)).find(({ name }) => name === 'ops')
    expect([ops?.accounts.length, ops?.account_count]).toEqual([200, 201])
  })
})

describe('what needs no sign-in', () => {
  test('the service is ready when its database is', async () => {
    const readyWith = async (check: () => Promise<void>) => {
      const { call } = await routeApp(monitoringRoutes({ store: { check }, version: '1', warnings: () => [] }), null)
      const { status, body } = await call('GET', '/ready')
      return [status, body]
    }
    expect(await readyWith(async () => undefined)).toEqual([200, { status: 'ready' }])
    const away = async () => Promise.reject(new UnavailableError('database_not_writable', 'disk is full'))
    expect(await readyWith(away)).toEqual([503, { status: 'not ready', reason: 'database not writable' }])
    const bug = await readyWith(async () => Promise.reject(new TypeError('bug')))
    expect(bug).toEqual([500, expect.objectContaining({ code: 'internal' })])
  })

  test('pages begin with plain facts, and the database is asked whether it is there', async () => {
    const start = async (isOn: boolean, check: () => Promise<void> = async () => undefined) => {
      const openId = { isOn: async () => isOn, logoutUrl: async () => 'https://idp/out' }
      return routeApp(pageStartRoutes({ store: { check }, openId }), null)
    }
    const { call } = await start(true)
    expect((await call('GET', '/schema')).body).toEqual({ success: ['The database is ready'], failed: [] })
    expect((await call('GET', '/app/config')).body).toMatchObject({ chatEnabled: false, logTz: 'UTC' })
    expect((await call('GET', '/logo')).body).toEqual({ logo: null, isDefault: true })
    expect((await call('GET', '/auth/logout')).body).toEqual({ logoutUrl: 'https://idp/out' })
    expect((await (await start(false)).call('GET', '/auth/logout')).body).toEqual({ logoutUrl: null })
    const away = await start(true, async () => Promise.reject(new UnavailableError('database_unavailable', 'no')))
    expect((await away.call('GET', '/schema')).status).toBe(503)
  })
})

describe('an upload', () => {
  const IDLE_MS = 120_000
  const HEAD =
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n'
  const STORED = {
    fieldname: 'file',
    originalname: 'a.txt',
    encoding: '7bit',
    mimetype: 'text/plain',
    destination: '/up',
    filename: 'n',
    path: '/up/n',
    size: 3,
  }

  async function uploads({ mayUpload = true } = {}) {
    const held = heldTimers()
    const done: string[] = []
    const said: unknown[] = []
    const fake = {
      begin: async (_owner: unknown, sizes: unknown) => {
        said.push(sizes)
        return {
          write: async (bytes: Buffer) => void done.push(`write ${bytes.toString()}`),
          finish: async () => {
            done.push('finish')
            return STORED
          },
          discard: async () => void done.push('discard'),
        }
      },
    }
    const fields = mayUpload ? [{ name: 'f', type: 'file' }] : []
    const forms = { all: async () => [{ name: 'F', type: 'ansible', roles: ['default'], fields, wizard: [] }] }
    const routes = await routeApp(uploadRoutes({ uploads: fake as never, forms: forms as never, timers: held.timers }))
    const send = async (body: Readable | string, headers: Readonly<Record<string, string>> = {}) => {
      const answer = await routes.app.inject({
        method: 'POST',
        url: '/api/v2/job/upload',
        headers: { 'content-type': 'multipart/form-data; boundary=x', ...headers },
        payload: body,
      })
      return { status: answer.statusCode, body: answer.json<{ code?: string }>() }
    }
    return { ...routes, held, done, said, send }
  }
  const body = () => {
    const stream = new Readable({ read: () => undefined })
    stream.push(HEAD)
    return stream
  }

  test('is stored, and named in its record', async () => {
    const { send, done, noted, held } = await uploads()
    expect(await send(`${HEAD}abc\r\n--x--\r\n`)).toEqual({ status: 200, body: STORED })
    expect([done, noted(), held.count()]).toEqual([['write abc', 'finish'], { name: 'a.txt' }, 0])
  })

  test.each([
    ['100', { file: 0, body: 100 }],
    [String(64 * 1024), { file: 0, body: 64 * 1024 }],
    [String(64 * 1024 + 1), { file: 1, body: 64 * 1024 + 1 }],
    ['9'.repeat(20), { file: 0, body: 0 }],
  ])('is announced with the size that its sender says: %s', async (length, sizes) => {
    const { send, said } = await uploads()
    await send(`${HEAD}abc\r\n--x--\r\n`, { 'content-length': length })
    expect(said).toEqual([sizes])
  })

  test.each([
    ['nothing', ''],
    ['a byte', 'x'],
  ])('of which %s came in two minutes is ended and removed', async (_, last) => {
    const { send, held, done } = await uploads()
    const stream = body()
    const sent = send(stream)
    await waitFor('the upload', () => held.waitsFor(IDLE_MS))
    // Much came in these two minutes, and in the next.
    for (const bytes of ['a', 'b'].map((letter) => letter.repeat(64 * 1024))) {
      held.move(IDLE_MS)
      const before = done.join('').length
      stream.push(bytes)
      await waitFor('the bytes', () => done.join('').length >= before + bytes.length)
    }
    held.move(IDLE_MS)
    if (last !== '') {
      stream.push(last)
      await waitFor('the last byte', () => done.includes(`write ${last}`))
    }
    held.move(IDLE_MS)
    expect(await sent).toMatchObject({ status: 400, body: { code: 'upload_stalled' } })
    expect([done.at(-1), held.count()]).toEqual(['discard', 0])
  })

  test('is ended and removed when the service stops', async () => {
    const { send, held, done, app } = await uploads()
    const sent = send(body())
    await waitFor('the upload', () => held.waitsFor(IDLE_MS))
    const closed = app.close()
    expect(await sent).toMatchObject({ status: 503, body: { code: 'stopping' } })
    expect(done).toEqual(['discard'])
    await closed
  })

  test('is for who may use a form with a file field', async () => {
    const { send, said } = await uploads({ mayUpload: false })
    expect(await send(`${HEAD}abc\r\n--x--\r\n`)).toMatchObject({ status: 403, body: { code: 'no_file_form' } })
    expect(said).toEqual([])
  })
})
