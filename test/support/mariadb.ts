import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from './wait.js'

/** Where Debian has the server, which is not on the path of an ordinary user. */
const PROGRAM = '/usr/sbin/mariadbd'

/** A MariaDB server in a folder of its own. Its user `root` has no password until a test gives one. */
export interface MariadbServer {
  readonly port: number
  close(): Promise<void>
}

/**
 * @param options of the server, such as `ssl_ca`. `FOLDER` in them stands for the folder with the files
 * @param files texts by name
 * @throws Error when the server is not installed or does not start
 */
export async function startMariadb(
  options: readonly string[] = [],
  files: Readonly<Record<string, string>> = {},
): Promise<MariadbServer> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mariadb-'))
  const own = join(folder, 'own')
  mkdirSync(own)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(own, name), text)
  const data = `--datadir=${join(folder, 'data')}`
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []
  const made = spawnSync(
    'mariadb-install-db',
    ['--no-defaults', data, '--auth-root-authentication-method=normal', '--skip-test-db', ...asRoot],
    { encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(`install the package mariadb-server-core: ${made.error ?? made.stderr}`)
  const port = await freePort()
  const child = spawn(
    PROGRAM,
    [
      '--no-defaults',
      data,
      ...asRoot,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      `--socket=${join(folder, 'socket')}`,
      '--innodb-buffer-pool-size=16M',
      '--innodb-flush-log-at-trx-commit=0',
      ...options.map((option) => `--${option.replaceAll('FOLDER', own)}`),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  await waitFor('MariaDB to be ready', async () => {
    if (child.exitCode !== null) throw new Error(`MariaDB ended: ${said}`)
    return said.includes('ready for connections') ? true : null
  })
  return {
    port,
    async close() {
      const ended = child.exitCode === null ? once(child, 'exit') : Promise.resolve()
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
