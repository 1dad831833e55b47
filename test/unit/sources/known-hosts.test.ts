import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isKnownHost } from '../../../control-plane/src/sources/known-hosts.js'

const KEY = Buffer.from('the key of the host')
const listed = KEY.toString('base64')
const known = (file: string, host = 'web1.example.com', port = 22) => isKnownHost(file, { host, port }, KEY)

test.each([
  ['a name', `web1.example.com ssh-ed25519 ${listed} a comment`, true],
  ['one of several names', `10.0.0.1,web1.example.com ssh-ed25519 ${listed}`, true],
  ['a pattern', `*.example.com ssh-ed25519 ${listed}`, true],
  ['capitals', `WEB1.example.com ssh-ed25519 ${listed}`, true],
  ['another name', `web2.example.com ssh-ed25519 ${listed}`, false],
  ['a name that only looks alike', `web1xexample.com ssh-ed25519 ${listed}`, false],
  ['another key', `web1.example.com ssh-ed25519 ${Buffer.from('other').toString('base64')}`, false],
  ['a name that is taken back', `*.example.com,!web1.example.com ssh-ed25519 ${listed}`, false],
  ['a comment', `# web1.example.com ssh-ed25519 ${listed}`, false],
  ['an authority, which is no key of a host', `@cert-authority * ssh-ed25519 ${listed}`, false],
  ['a key that was taken back', `web1.example.com ssh-ed25519 ${listed}\n@revoked * ssh-ed25519 ${listed}`, false],
  ['the same host with another port', `[web1.example.com]:2222 ssh-ed25519 ${listed}`, false],
  ['nothing', '', false],
])('a file of known hosts with %s', (_, file, isKnown) => {
  expect(known(file)).toBe(isKnown)
})

test('a port other than 22 is a part of the name', () => {
  expect(known(`[web1.example.com]:2222 ssh-ed25519 ${listed}`, 'web1.example.com', 2222)).toBe(true)
  expect(known(`web1.example.com ssh-ed25519 ${listed}`, 'web1.example.com', 2222)).toBe(false)
})

test('names that ssh-keygen has hashed are known', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-known-'))
  try {
    const key = join(folder, 'key')
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
    const [type = '', encoded = ''] = readFileSync(`${key}.pub`, 'utf8').split(' ')
    const file = join(folder, 'known_hosts')
    writeFileSync(file, `web1.example.com ${type} ${encoded}\n[web1.example.com]:2222 ${type} ${encoded}\n`)
    execFileSync('ssh-keygen', ['-q', '-H', '-f', file])
    const hashed = readFileSync(file, 'utf8')
    expect(hashed).not.toContain('web1')
    const isKnown = (host: string, port: number) => isKnownHost(hashed, { host, port }, Buffer.from(encoded, 'base64'))
    const places = [
      ['web1.example.com', 22] as const,
      ['web1.example.com', 2222] as const,
      ['web2.example.com', 22] as const,
    ]
    expect(places.map(([host, port]) => isKnown(host, port))).toEqual([true, true, false])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
