import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import { parseHostRules } from '../../../control-plane/src/sources/address-rules.js'
import { type SshCommand, type SshSettings, runSshCommand } from '../../../control-plane/src/sources/ssh-command.js'

const KEY: OpenCredential = {
  id: 1,
  name: 'operations',
  type: 'ssh',
  description: '',
  user: null,
  host: null,
  port: null,
  password: 'a private key',
  options: {},
}
const SETTINGS: SshSettings = {
  hosts: parseHostRules('*.example.com, web1, 10.0.0.0/8, fe80::/10'),
  credential: 'operations',
  knownHosts: join(tmpdir(), 'no such file of known hosts'),
}
/** What is said when all is well but the file of known hosts, which is read last. */
const FINE = /the file of known hosts cannot be read \(FORM_SSH_KNOWN_HOSTS\)/

function run(asked: Partial<SshCommand>, settings: Partial<SshSettings> = {}, key: OpenCredential | null = KEY) {
  const command = asked.command ?? 'uptime'
  return runSshCommand(
    { ...SETTINGS, ...settings },
    { user: 'root', host: 'web1', command, template: `fn.fnSsh('root','web1','${command}')`, ...asked },
    (name) => Promise.resolve(name === 'operations' ? key : null),
    new AbortController().signal,
  )
}

describe('the host', () => {
  test.each([
    'web1',
    'WEB1',
    'web1:22',
    'web1:1',
    'web1:65535',
    'a_b.example.com',
    '10.1.2.3',
    '10.1.2.3:2222',
    '[fe80::1]',
    '[FE80::1]:22',
  ])('may be %s', async (host) => {
    await expect(run({ host })).rejects.toThrow(FINE)
  })

  test.each([
    '',
    '-oProxyCommand=id',
    'web1:0',
    'web1:65536',
    'web1:100000',
    'web1:',
    'web1:x',
    'web-:22',
    '.example.com',
    'a b',
    'fe80::1',
    '[web1]:22:',
  ])('is no place to connect to: %j', async (host) => {
    await expect(run({ host })).rejects.toThrow('the host must be a name or an address')
  })

  test.each(['web2', 'example.com', '11.0.0.1', '[fc00::1]'])('must be allowed: %s', async (host) => {
    await expect(run({ host })).rejects.toThrow('is not in FORM_SSH_HOSTS')
  })

  test('is never allowed when no host is', async () => {
    await expect(run({}, { hosts: parseHostRules('') })).rejects.toThrow('forms may run no commands by ssh here')
  })
})

test.each(['root', '_a', 'a.b-c', 'A1'])('the user may be %s', async (user) => {
  await expect(run({ user })).rejects.toThrow(FINE)
})

test.each(['', '-l', '1a', 'a b', 'a;b', 'a\nb'])('the user must be one plain word: %j', async (user) => {
  await expect(run({ user })).rejects.toThrow('the user must be one plain word')
})

describe('the command', () => {
  const REFUSED = 'the command must be one text of the form'
  const runs = (text: string, command: string) => run({ command, template: `fn.fnSsh('root', "web1", ${text})` })

  test.each([
    ["'ls -l /srv'", 'ls -l /srv'],
    ['"ls -l /srv"', 'ls -l /srv'],
    [`'echo \\'a\\tb\\n\\''`, "echo 'a\tb\n'"],
    ["'ls $(path)'", 'ls /srv/a-1.txt'],
    ["'ls $(path)'", 'ls '],
    ["'ls $(path) $(more)'", 'ls a b'],
    ["'du -s /srv/$(path)/[x]'", 'du -s /srv/a/[x]'],
  ])('that the form writes as %s may be %j', async (text, command) => {
    await expect(runs(text, command)).rejects.toThrow(FINE)
  })

  test.each([
    ["'ls -l /srv'", 'ls -l /srv; id'],
    ["'ls -l /srv'", 'x ls -l /srv'],
    ["'ls $(path)'", 'ls a b'],
    ["'ls $(path)'", 'ls -rf'],
    ["'ls $(path)'", 'ls a;id'],
    ["'ls $(path)x'", 'ls -x'],
    ["'du /srv/.x'", 'du /srv/ax'],
    ["'$(path)'", 'id'],
    ["'x$(path)'", 'xid'],
    ["'true; $(path)'", 'true; id'],
    ["'true && $(path)'", 'true && id'],
    ["'echo a\\n$(path)'", 'echo a\nid'],
  ])('that the form writes as %s may not be %j', async (text, command) => {
    await expect(runs(text, command)).rejects.toThrow(REFUSED)
  })
})

describe('the key that logs in', () => {
  test('must be there', async () => {
    const none = 'there is no credential for ssh (FORM_SSH_CREDENTIAL)'
    await expect(run({}, { credential: null })).rejects.toThrow(none)
    await expect(run({}, { credential: 'other' })).rejects.toThrow(none)
  })

  test('must be one of type ssh', async () => {
    await expect(run({}, {}, { ...KEY, type: 'userpass' })).rejects.toThrow(
      "the credential 'operations' is not of type ssh",
    )
  })

  test('is for its own host, when it names one', async () => {
    await expect(run({}, {}, { ...KEY, host: 'WEB1' })).rejects.toThrow(FINE)
    await expect(run({}, {}, { ...KEY, host: 'web2' })).rejects.toThrow('is for the host web2 only')
  })
})
