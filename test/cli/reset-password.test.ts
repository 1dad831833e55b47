import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../control-plane/src/store/open-store.js'
import { findUserByName, insertUser } from '../../control-plane/src/store/accounts/users.js'
import { ADMIN_PASSWORD, type TestServer, startServer } from '../api/server.js'
import { createTestDatabase } from '../support/test-database.js'
import { newQuickPerson } from './run-cli.js'

/** A lost password, on the host of a control plane that goes on running. */
let server: TestServer
const log: string[] = []
beforeAll(async () => {
  server = await startServer({ database: 'sqlite', log })
})
afterAll(() => server.close())

const reset = (...args: readonly string[]) =>
  newQuickPerson().run(['admin', 'reset-password', ...args, '--persistent-path', server.folder])

describe('admin reset-password', () => {
  it('prints a new password that must be changed; the old one and all sign-ins are no longer valid', async () => {
    const { code, stdout, stderr } = await reset()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const password = stdout.trim()
    expect(password).toMatch(/^[\w-]{24}$/)
    expect((await server.call('GET', '/profile', { token: server.admin })).status).toBe(401)
    const signIn = (json: object) => server.call('POST', '/auth/login', { json: { username: 'admin', ...json } })
    expect((await signIn({ password: ADMIN_PASSWORD })).status).toBe(401)
    const { body } = await signIn({ password })
    expect(body.passwordMustChange).toBe(true)

    const token = String(body.token)
    const next = { currentPassword: password, password: 'the very next password' }
    expect((await server.call('PUT', '/profile', { token, json: next })).status).toBe(200)
    const again = String((await signIn({ password: next.password })).body.token)
    const audit = await server.call('GET', '/audit?action=user.reset-password', { token: again })
    expect(audit.body.records).toMatchObject([{ user: null, address: 'this host', object: { name: 'admin' } }])
    expect((await server.call('GET', '/audit/verify', { token: again })).body).toMatchObject({ ok: true })
  })

  it('lets a blocked account in only with --unblock', async () => {
    const { body } = await server.call('POST', '/auth/login', {
      json: { username: 'admin', password: 'the very next password' },
    })
    const json = { username: 'ben', password: ADMIN_PASSWORD, enabled: false }
    await server.call('POST', '/user', { token: String(body.token), json })
    const refused = await reset('ben')
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([5, '', expect.stringContaining('--unblock')])
    const { code, stdout } = await reset('ben', '--unblock')
    expect(code).toBe(0)
    expect((await server.signIn('ben', stdout.trim())).token).toBeTruthy()
  })

  it('makes no database and no account: exit code 5', async () => {
    expect((await reset('nobody')).stderr).toBe('holdfast: There is no local user named nobody.\n')
    const elsewhere = await newQuickPerson().run(['admin', 'reset-password', '--persistent-path', '/nowhere'])
    expect([elsewhere.code, elsewhere.stderr]).toEqual([5, expect.stringContaining('There is no database to open')])
    expect((await newQuickPerson().run(['admin', 'reset-password', '--settings-file', '/nowhere'])).code).toBe(2)
  })

  it.skipIf(process.getuid?.() !== 0)('is refused for a user who does not own the database: exit code 5', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'holdfast.db'), '')
    chownSync(join(folder, 'holdfast.db'), 4711, 4711)
    const { code, stderr } = await newQuickPerson().run(['admin', 'reset-password', '--persistent-path', folder])
    expect([code, stderr]).toEqual([5, expect.stringContaining('belongs to the user with the id 4711')])
  })

  it('works on PostgreSQL, with the settings of a file, and changes no table', async () => {
    const folder = temporaryFolder()
    const database = await createTestDatabase(folder, 'postgres')
    onTestFinished(() => database.remove())
    const file = join(folder, 'control-plane.env')
    const secrets = 'ACCESS_TOKEN_SECRET="only used in tests"\nENCRYPTION_SECRET="only used in tests"\n'
    writeFileSync(file, `# settings\nDATABASE_URL=${database.url}\nADMIN_USERNAME=root\n${secrets}`)
    const run = () => newQuickPerson().run(['admin', 'reset-password', '--settings-file', file])
    const early = await run()
    expect([early.code, early.stderr]).toEqual([5, expect.stringContaining('were never made')])

    const store = await openStore(database.place)
    const account = { username: 'root', type: 'local', passwordHash: 'x', email: null, groups: [] } as const
    await store.write('test', (queries) => insertUser(queries, { ...account, enabled: true, createdAt: 1 }))
    expect((await run()).code).toBe(0)
    const user = await findUserByName(store.read, 'local', 'root')
    expect([user?.passwordMustChange, user?.passwordHash?.slice(0, 9)]).toEqual([true, '$argon2id'])
    await store.close()
  })
})

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-reset-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
