import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startControlPlane } from '../../control-plane/src/main.js'
import { readSettings } from '../../control-plane/src/settings.js'
import { TEST_CERTIFICATE } from '../support/test-certificate.js'

const FAST_HASHES = { memoryCost: 1024, timeCost: 1, parallelism: 1 }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-start-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

const at = (name: string) => join(folder, name)

/** Starts a control plane in the folder; its log and what it says to a terminal are kept. */
async function start(environment: Readonly<Record<string, string>> = {}) {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const said: string[] = []
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0)
  try {
    const sources = { environment: { PERSISTENT_PATH: at('data'), PORT: '0', ...environment }, flags: {} }
    const settings = readSettings({ ...sources, readFile: () => '' }, false)
    const plane = await startControlPlane(settings, { log, hashCost: FAST_HASHES })
    let isOpen = true
    const close = async () => {
      if (isOpen) await plane.close()
      isOpen = false
    }
    onTestFinished(close)
    const logged = (words: string) => lines.filter((line) => line.includes(words)).length
    return { ...plane, close, log, logged, said: said.filter((text) => text.startsWith('First start')) }
  } finally {
    spy.mockRestore()
  }
}

test('the first start makes its folders, and an admin whose password is in a file', async () => {
  const { address, said, logged, close } = await start({ BASE_URL: '/base/', DATABASE_URL: `sqlite:${at('db/a.db')}` })
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/base$/)
  expect(said).toEqual([
    `First start: sign in as 'admin' with the password in ${at('data/initial-admin-password')}; change it and remove the file.\n`,
  ])
  expect(readFileSync(at('data/initial-admin-password'), 'utf8').trim().length).toBeGreaterThan(12)
  for (const name of ['forms', 'vars', 'workflows', 'playbooks']) expect(existsSync(at(`data/${name}`))).toBe(true)
  for (const name of ['data', 'db']) expect(statSync(at(name)).mode & 0o777).toBe(0o700)
  expect([logged('"listening"'), logged('without TLS'), logged('of an older release')]).toEqual([1, 0, 0])
  expect((await fetch(`${address}/api/v2/live`)).status).toBe(200)
  await close()
  const again = await start({ DATABASE_URL: `sqlite:${at('db/a.db')}` })
  expect([again.said, again.logged('ADMIN_PASSWORD counts at the first start only')]).toEqual([[], 0])
})

test('a first start with a password says none, and a later one says that it does not count', async () => {
  const environment = { ADMIN_PASSWORD: 'a long password' }
  const first = await start(environment)
  expect([first.said, first.logged('ADMIN_PASSWORD counts at the first start only')]).toEqual([[], 0])
  expect(existsSync(at('data/initial-admin-password'))).toBe(false)
  await first.close()
  const second = await start(environment)
  expect(second.logged('ADMIN_PASSWORD counts at the first start only')).toBe(1)
})

describe('a start that fails', () => {
  test('because the port is taken lets go of the database', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const port = String((server.address() as AddressInfo).port)
    await expect(start({ PORT: port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    const { address } = await start()
    expect((await fetch(`${address}/api/v2/live`)).status).toBe(200)
  })

  test('because a part of it cannot be made lets go of the database', async () => {
    writeFileSync(at('a-file'), '')
    await expect(start({ UPLOAD_PATH: at('a-file/uploads') })).rejects.toThrow('ENOTDIR')
    await start()
  })
})

describe('listening beyond this machine', () => {
  test.each<[string, Record<string, string>, number]>([
    ['is told', {}, 1],
    ['is fine behind a proxy', { TRUST_PROXY: '1' }, 0],
  ])('without TLS %s', async (_what, environment, warnings) => {
    const { logged } = await start({ LISTEN_HOST: '0.0.0.0', ...environment })
    expect(logged('listening beyond this machine without TLS')).toBe(warnings)
  })

  test('with TLS is fine, and a reload reads the certificate again', async () => {
    writeFileSync(at('cert.pem'), TEST_CERTIFICATE.cert)
    writeFileSync(at('key.pem'), TEST_CERTIFICATE.key)
    const tls = { HTTPS: '1', HTTPS_CERT: at('cert.pem'), HTTPS_KEY: at('key.pem') }
    const { address, logged, reload } = await start({ LISTEN_HOST: '0.0.0.0', ...tls })
    expect(address).toMatch(/^https:/)
    expect(logged('listening beyond this machine without TLS')).toBe(0)
    await reload()
    expect(logged('the certificate was read again')).toBe(1)
  })
})

test('the level of the log is read from its file at the start and at a reload, as config.yaml is', async () => {
  mkdirSync(at('data'))
  writeFileSync(at('level'), 'warn')
  const { log, logged, reload } = await start({ LOG_LEVEL_FILE: at('level') })
  expect([log.level, logged('the log gets another level'), logged('listening')]).toEqual(['warn', 1, 0])
  writeFileSync(at('level'), 'info')
  const config = readFileSync(at('data/config.yaml'), 'utf8')
  writeFileSync(at('data/config.yaml'), 'roles: [')
  await reload()
  expect([log.level, logged('config.yaml')]).toEqual(['info', 1])
  writeFileSync(at('data/config.yaml'), config)
})
