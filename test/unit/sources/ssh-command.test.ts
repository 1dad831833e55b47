import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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

const linesOf = (text: string) => text.trim().split(/ *\n */)

test.each(['web1', 'WEB1', 'web1:65535', 'a_b.example.com', '10.1.2.3:2222', '[FE80::1]:22'])(
  'the host may be %s',
  async (host) => {
    await expect(run({ host })).rejects.toThrow(FINE)
  },
)

test.each(['', '-oProxyCommand=id', 'web1:0', 'web1:65536', 'web1:', 'web-:22', '.example.com', 'a b', 'fe80::1'])(
  '%j is no place to connect to',
  async (host) => {
    await expect(run({ host })).rejects.toThrow('the host must be a name or an address')
  },
)

test.each(['web2', 'example.com', '11.0.0.1', '[fc00::1]'])('the host %s is not allowed', async (host) => {
  await expect(run({ host })).rejects.toThrow('is not in FORM_SSH_HOSTS')
})

test('the user is one plain word', async () => {
  for (const user of ['root', '_a', 'a.b-c', 'A1']) await expect(run({ user })).rejects.toThrow(FINE)
  for (const user of ['', '-l', '1a', 'a b', 'a;b', 'a\nb']) {
    await expect(run({ user }), user).rejects.toThrow('the user must be one plain word')
  }
})

test.each(
  linesOf(`
    ls -l /srv
    ls «/srv/a-1.txt»
    ls «»
    du -s /srv/«a»/[x]
    sudo -u root systemctl restart «nginx»
    cd /srv && LANG=C ls «a»
    nice env LANG=C du «a»
    bash /srv/run.sh «a»
    docker restart «web»
    docker exec web ls «a»
    find /srv -name «a» -exec rm {} +
    rsync -e ssh «a» /srv
    tar -cf /tmp/«a».tar /srv
    grep -e x «a»
    cat /srv/x | grep «a»
    if test -e «a»; then ls «a»; fi`),
)('the command, in which «…» was typed, may be %s', async (marked) => {
  await expect(run({ marked })).rejects.toThrow(FINE)
})

test.each([
  'echo a\n«id»',
  ...linesOf(`
    ls «/srv; id»
    ls «a b»
    ls «-rf»
    «id» -a
    x«id»
    /usr/bin/«id»
    true; «id»
    true && «id»
    /usr/bin/sudo «id»
    "sudo" «id»
    sudo -n «id»
    sudo -u root «id»
    sudo -- «id»
    env A=1 «id»
    A=1 «id»
    PATH=/tmp/«a» ls
    export LD_PRELOAD=«a»; ls
    sudo nice -n 5 timeout 5 «id»
    timeout «5» id
    ls | xargs «id»
    bash «a»
    sh -c '«id»'
    sh -c 'sudo «id»'
    if «id»; then true; fi
    for a in 1; do «id»; done
    find /srv -exec «id» {} +
    rsync -e «id» a b
    rsync --rsh=«id» a b
    tar -cf a.tar --use-compress-program «id» /srv
    ssh -o ProxyCommand=«id» web1
    sudo docker exec -i web «id»
    ip netns exec blue «id»`),
])('it may not be %s', async (marked) => {
  await expect(run({ marked })).rejects.toThrow('only the form may write the command')
})

test('the key that logs in is one of type ssh, and for its own host when it names one', async () => {
  await expect(run({}, {}, { ...KEY, type: 'userpass' })).rejects.toThrow(
    "the credential 'operations' is not of type ssh",
  )
  await expect(run({}, {}, { ...KEY, host: 'WEB1' })).rejects.toThrow(FINE)
  await expect(run({}, {}, { ...KEY, host: 'web2' })).rejects.toThrow('is for the host web2 only')
})
