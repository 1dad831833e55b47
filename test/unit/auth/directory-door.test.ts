import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createDirectory } from '../../../control-plane/src/auth/ldap/directory.js'
import { parseRoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'

const MOST = 50

/** A directory that takes connections and answers none, until the test cuts them off. */
async function silentDirectory() {
  const sockets = new Set<Socket>()
  let accepted = 0
  const server = createServer((socket) => {
    accepted += 1
    sockets.add(socket.on('error', () => undefined))
    socket.resume()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const cutOff = () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  onTestFinished(() => {
    cutOff()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `ldap://127.0.0.1:${port}`, cutOff, accepted: () => accepted }
}

test('fifty sign-ins at once ask the directory, and a directory that did not answer is not asked for a moment', async () => {
  const { url, cutOff, accepted } = await silentDirectory()
  const roles = 'roles:\n  - { name: admin, groups: [ldap/admins] }\n'
  const { ldap } = parseRoleConfig(`${roles}ldap:\n  url: ${url}\n  searchBase: dc=x\n`).providers ?? {}
  if (!ldap) throw new Error('there is no directory')
  const time = { ms: 0 }
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const secrets = { open: () => Promise.reject(new Error('there is no credential')) }
  const directory = createDirectory({ secrets, clock: { now: () => time.ms }, log, folder: '/' })
  const codes: string[] = []
  const ask = () =>
    directory.check(ldap, 'jo', 'word', { names: [], dns: [] }).catch((error: unknown) => {
      codes.push((error as { code: string }).code)
      return null
    })

  const round = async () => {
    codes.length = 0
    const begun = accepted()
    const first = Array.from({ length: MOST }, ask)
    await expect.poll(() => accepted()).toBe(begun + MOST)
    expect(codes).toEqual([])
    await ask()
    expect(codes).toEqual(['busy'])
    cutOff()
    await Promise.all(first)
    expect(codes.slice(1)).toEqual(Array.from({ length: MOST }, () => 'directory_unreachable'))
  }
  await round()

  time.ms = 1999
  const asked = accepted()
  await ask()
  expect([codes.at(-1), accepted()]).toEqual(['directory_unreachable', asked])
  time.ms = 2000
  await round()
})

test('an empty name or password is refused, and the directory is not asked', async () => {
  const { url, accepted } = await silentDirectory()
  const text = `roles:\n  - { name: admin }\nldap:\n  url: ${url}\n  searchBase: dc=x\n`
  const { ldap } = parseRoleConfig(text).providers ?? {}
  if (!ldap) throw new Error('there is no directory')
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const secrets = { open: () => Promise.reject(new Error('there is no credential')) }
  const directory = createDirectory({ secrets, clock: { now: () => 0 }, log, folder: '/' })
  expect(await directory.check(ldap, 'jo', '', { names: [], dns: [] })).toBeNull()
  expect(await directory.check(ldap, '', 'word', { names: [], dns: [] })).toBeNull()
  expect(accepted()).toBe(0)
})
