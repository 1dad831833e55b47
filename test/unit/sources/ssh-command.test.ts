import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import { parseHostRules } from '../../../control-plane/src/sources/address-rules.js'
import { type SshCommand, type SshSettings, runSshCommand } from '../../../control-plane/src/sources/ssh-command.js'
import { sourced } from './origins.js'

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

function run(
  asked: Partial<SshCommand> & { readonly marked?: string },
  settings: Partial<SshSettings> = {},
  key: OpenCredential | null = KEY,
) {
  return runSshCommand(
    { ...SETTINGS, ...settings },
    { user: 'root', host: 'web1', command: sourced(asked.marked ?? 'uptime'), ...asked },
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

describe('the command, in which «…» was typed', () => {
  test.each([
    'ls -l /srv',
    "echo 'a\tb\n'",
    'ls «/srv/a-1.txt»',
    'ls «»',
    'ls «a» «b»',
    'du -s /srv/«a»/[x]',
    'sudo systemctl restart «nginx»',
    'sudo -u root systemctl restart «nginx»',
    'cd /srv && LANG=C ls «a»',
    'timeout 5 ls «a»',
    'nice env LANG=C du «a»',
    'bash /srv/run.sh «a»',
    'docker restart «web»',
    'docker exec web ls «a»',
    'find /srv -name «a» -exec rm {} +',
    'rsync -e ssh «a» /srv',
    'tar -cf /tmp/«a».tar /srv',
    'grep -e x «a»',
    'cat /srv/x | grep «a»',
    'if test -e «a»; then ls «a»; fi',
  ])('may be %s', async (marked) => {
    await expect(run({ marked })).rejects.toThrow(FINE)
  })

  test.each([
    ['another command behind it', 'ls «/srv; id»'],
    ['two words', 'ls «a b»'],
    ['an option', 'ls «-rf»'],
    ['an option in the middle', 'ls «-»x'],
    ['all of it', '«id»'],
    ['the program', '«id» -a'],
    ['a part of the program', 'x«id»'],
    ['the end of the path of a program', '/usr/bin/«id»'],
    ['a program behind ;', 'true; «id»'],
    ['a program behind &&', 'true && «id»'],
    ['a program in the next line', 'echo a\n«id»'],
    ['a program behind sudo', 'sudo «id»'],
    ['a program behind the path of sudo', '/usr/bin/sudo «id»'],
    ['a program behind quotes', '"sudo" «id»'],
    ['a program behind sudo and an option', 'sudo -n «id»'],
    ['a program behind sudo and a user', 'sudo -u root «id»'],
    ['a program behind sudo and --', 'sudo -- «id»'],
    ['a program behind env', 'env A=1 «id»'],
    ['a program behind a variable', 'A=1 «id»'],
    ['a variable for programs', 'PATH=/tmp/«a» ls'],
    ['a variable for programs, exported', 'export LD_PRELOAD=«a»; ls'],
    ['a program behind several', 'sudo nice -n 5 timeout 5 «id»'],
    ['a program behind timeout', 'timeout «5» id'],
    ['a program behind xargs', 'ls | xargs «id»'],
    ['a script', 'bash «a»'],
    ['code of a shell', 'bash -c «id»'],
    ['code of a shell in quotes', "sh -c '«id»'"],
    ['a program behind sudo in quotes', "sh -c 'sudo «id»'"],
    ['a program behind if', 'if «id»; then true; fi'],
    ['a program behind do', 'for a in 1; do «id»; done'],
    ['a program behind -exec', 'find /srv -exec «id» {} +'],
    ['a program of rsync', 'rsync -e «id» a b'],
    ['a program of rsync behind =', 'rsync --rsh=«id» a b'],
    ['a program of tar', 'tar -cf a.tar --use-compress-program «id» /srv'],
    ['a program of ssh', 'ssh -o ProxyCommand=«id» web1'],
    ['a program in a container', 'docker exec web «id»'],
    ['a program in a container, with an option', 'sudo docker exec -i web «id»'],
    ['a program in a namespace', 'ip netns exec blue «id»'],
  ])('may not have %s: %s', async (_, marked) => {
    await expect(run({ marked })).rejects.toThrow('only the form may write the command')
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
