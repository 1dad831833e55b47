import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from './wait.js'

/** Where Debian has the server, which is not on the path of an ordinary user. */
const PROGRAM = '/usr/sbin/sshd'

/** OpenSSH's server on a port of its own, which lets root of this machine in by one key. */
export interface Sshd {
  readonly port: number
  /** Files with a key that it takes, one that it refuses, and its own host key as a line of known_hosts. */
  readonly key: string
  readonly strangersKey: string
  readonly knownHosts: string
  /** What it logged. */
  said(): string
  close(): Promise<void>
}

/** Why the server cannot be run here; null: it can. */
export function whyNoSshd(): string | null {
  return process.getuid?.() === 0 ? null : 'only root can let root in by ssh'
}

export async function startSshd(): Promise<Sshd> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-sshd-'))
  const file = (name: string): string => join(folder, name)
  for (const name of ['host', 'key', 'stranger']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', file(name)])
  }
  writeFileSync(file('authorized'), readFileSync(file('key.pub')))
  const port = await freePort()
  writeFileSync(file('known_hosts'), `[127.0.0.1]:${port} ${readFileSync(file('host.pub'), 'utf8')}`)
  writeFileSync(
    file('sshd_config'),
    `ListenAddress 127.0.0.1:${port}
HostKey ${file('host')}
AuthorizedKeysFile ${file('authorized')}
PidFile none
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
UseDNS no
MaxStartups 100
# Bash takes a session of the first level for a login from afar, and reads ~/.bashrc of whoever runs the tests.
SetEnv SHLVL=1
Subsystem sftp internal-sftp
`,
  )
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  const server = spawn(PROGRAM, ['-D', '-e', '-f', file('sshd_config')], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  server.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const failure = once(server, 'error').then(([error]) => {
    throw new Error(`sshd cannot be started, install the package openssh-server: ${String(error)}`)
  })
  const ended = once(server, 'exit')
  await Promise.race([
    waitFor('sshd to listen', () => {
      if (server.exitCode !== null) throw new Error(`sshd ended: ${said}`)
      return said.includes('Server listening')
    }),
    failure,
  ])
  return {
    port,
    key: file('key'),
    strangersKey: file('stranger'),
    knownHosts: file('known_hosts'),
    said: () => said,
    async close() {
      server.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
