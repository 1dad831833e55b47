import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../support/product.js'
import { waitFor } from '../support/wait.js'

const BOOT = join(dirname(fileURLToPath(import.meta.url)), 'boot.sh')
/** The root folder of the system that is booted: that of this machine, or of another one (`SYSTEMD_ROOT`). */
const LOWER = process.env.SYSTEMD_ROOT ?? '/'
/** The clone, as the machine sees it. */
export const INSTALLED = '/opt/holdfast'

/** Without the programs of this clone, which npx puts first: they would be taken for those of the packages. */
const PATH = process.env.PATH?.split(':').filter((folder) => !folder.endsWith('node_modules/.bin'))

/** What a shell of root has there. Certificates and proxies that this process was given are not those of the machine. */
const ENVIRONMENT = { PATH: PATH?.join(':'), HOME: '/root', SHELL: '/bin/bash' }

/**
 * Bash takes a socket at its input for a login from afar, and reads ~/.bashrc of whoever runs the tests. Node.js gives
 * sockets to its children, so bash is told not to.
 */
export const BASH = ['bash', '--norc', '-c'] as const

/** No command of a machine takes longer, in milliseconds: one that hangs should be named before the test gives up. */
const COMMAND_LIMIT_MS = 900_000

/** How a command of the machine ended. */
export interface Ran {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/** How a machine restarts. */
export type Reboot = 'orderly' | 'power failure'

/** A machine with a systemd of its own: namespaces over a layer above the root folder of this machine, or of another. */
export interface Machine {
  /** Runs a shell script as root, to its end. */
  run(script: string, input?: string): Promise<Ran>
  /** The same; it ends at the first command that fails. @returns what it printed @throws Error when its exit status is not 0 */
  get(script: string): Promise<string>
  /** Runs a shell script as root at a terminal of its own. Somebody there types each answer when its question is shown. */
  type(script: string, answers: readonly (readonly [question: string, answer: string])[]): Promise<Ran>
  /** The process that has its namespaces, until the next boot. */
  firstProcess(): string
  /**
   * Restarts the machine and waits until it is up again. `orderly` is `systemctl reboot`; at a `power failure` everything
   * in it ends at once. Its files stay as they are, but for /run and /tmp.
   */
  reboot(how: Reboot): Promise<void>
  /** Ends the machine with everything in it. */
  close(): Promise<void>
}

/** @throws Error when there is none */
function childOf(pid: string): string {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  if (!child) throw new Error(`the process ${pid} has started nothing yet`)
  return child
}

/** Why no such machine can be booted here; null: one can. */
export function whyNoMachine(): string | null {
  if (process.getuid?.() !== 0) return 'only root can boot a machine'
  if (!existsSync(join(LOWER, 'lib/systemd/systemd'))) return `systemd is not installed in ${LOWER}`
  const probe = `set -e; folder=$(mktemp -d); trap 'umount -l "$folder"; rmdir "$folder"' EXIT
    mount -t tmpfs layer "$folder"; mkdir "$folder"/{changes,work,root}
    mount -t overlay -o "lowerdir=$LOWER,upperdir=$folder/changes,workdir=$folder/work" overlay "$folder/root"
    mount -t cgroup2 cgroup2 "$folder/changes"`
  const { status, stderr } = spawnSync('unshare', ['--mount', '--pid', '--fork', '--cgroup', ...BASH, probe], {
    encoding: 'utf8',
    env: { ...process.env, LOWER },
  })
  return status === 0 ? null : `namespaces with a systemd cannot be made here: ${stderr.trim()}`
}

/** Removes the control groups that a machine has left (boot.sh), when the last process of it has ended. */
async function removeGroups(folder: string): Promise<void> {
  const script = `set -e; mount -t cgroup2 cgroup2 "$FOLDER"
    group=$FOLDER$(sed -n 's/^0:://p' /proc/self/cgroup)/\${FOLDER##*/}
    [ ! -e "$group" ] || find "$group" -depth -type d -exec rmdir {} +`
  await waitFor('the end of all processes of the machine', () => {
    const words = ['--mount', ...BASH, script]
    const { status, stderr } = spawnSync('unshare', words, {
      encoding: 'utf8',
      env: { ...process.env, FOLDER: folder },
    })
    if (status !== 0) throw new Error(stderr)
    return true
  })
}

/** Boots a machine; it has a network of its own, with the loopback address only. */
export async function bootMachine(): Promise<Machine> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-machine-'))
  // It ends with this process, however that ends. It is boot.sh, which has the namespaces of one boot after the other.
  const holder = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', '--mount', BOOT, folder, ROOT, LOWER], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaint = ''
  holder.stderr.on('data', (data: Buffer) => (complaint += data.toString()))
  const ended = new Promise<void>((resolve) => holder.once('exit', () => resolve()))

  const firstProcess = (): string => {
    if (holder.exitCode !== null || holder.signalCode !== null)
      throw new Error(`the machine did not boot: ${complaint}`)
    const pid = childOf(childOf(String(holder.pid)))
    // Until then it is boot.sh, in namespaces that are not made up yet.
    const program = readlinkSync(`/proc/${pid}/exe`)
    if (!program.endsWith('/systemd')) throw new Error(`${program} is not systemd yet`)
    return pid
  }
  const commands = new Set<ChildProcess>()
  const run = (script: string, input = ''): Promise<Ran> =>
    new Promise((resolve) => {
      const command = ['--target', firstProcess(), '--all', ...BASH, script]
      const options = {
        maxBuffer: 64 << 20,
        env: ENVIRONMENT,
        timeout: COMMAND_LIMIT_MS,
        killSignal: 'SIGKILL',
      } as const
      const begin = performance.now()
      const child = execFile('nsenter', command, options, (error, stdout, stderr) => {
        commands.delete(child)
        const isTooLong = performance.now() - begin >= COMMAND_LIMIT_MS
        const said = isTooLong ? `${stderr}\nended after ${COMMAND_LIMIT_MS / 1000} s: ${script}` : stderr
        resolve({ status: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr: said })
      })
      commands.add(child)
      // A command that reads nothing may be gone before it is given anything; how it ended is what counts.
      child.stdin?.on('error', () => undefined)
      child.stdin?.end(input)
    })
  const type: Machine['type'] = async (script, answers) => {
    const words = [
      '--target',
      firstProcess(),
      '--all',
      'script',
      '--quiet',
      '--return',
      '/dev/null',
      '--command',
      script,
    ]
    const child = spawn('nsenter', words, { stdio: ['pipe', 'pipe', 'pipe'], env: ENVIRONMENT })
    let [stdout, stderr, seen] = ['', '', 0]
    child.stdout.on('data', (data: Buffer) => (stdout += data.toString()))
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()))
    const status = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)))
    for (const [question, answer] of answers) {
      await waitFor(`"${question}" at the terminal`, () => {
        const at = stdout.indexOf(question, seen)
        if (at < 0) throw new Error(`${stdout.slice(seen)}${stderr}`)
        seen = at + question.length
        return true
      })
      child.stdin.write(`${answer}\r`)
    }
    return { status: await status, stdout, stderr }
  }
  const get = async (script: string): Promise<string> => {
    const { status, stdout, stderr } = await run(`set -e\n${script}`)
    if (status !== 0) throw new Error(`${script}\nended with ${status}: ${stdout}${stderr}`)
    return stdout
  }

  const up = (): Promise<unknown> =>
    waitFor(
      'the machine to be up',
      async () => {
        const { stdout, stderr } = await run('systemctl is-system-running')
        if (!['running', 'degraded'].includes(stdout.trim())) throw new Error(`${stdout}${stderr}`)
        return true
      },
      { everyMs: 100 },
    )

  const machine: Machine = {
    run,
    get,
    type,
    firstProcess,
    async reboot(how) {
      const before = firstProcess()
      if (how === 'orderly') await run('systemctl reboot')
      else process.kill(Number(before), 'SIGKILL')
      // A test that gave up may still ask something. At a shutdown systemd stops every process for a moment. Then nsenter
      // stops itself, outside of the machine, where nobody lets it go on, and the shutdown waits for it for ever.
      for (const command of commands) command.kill('SIGKILL')
      await waitFor('the next boot', () => firstProcess() !== before)
      await up()
    },
    async close() {
      holder.kill('SIGKILL')
      await ended
      await removeGroups(folder)
      rmSync(folder, { recursive: true, force: true })
    },
  }
  try {
    await up()
  } catch (error) {
    await machine.close()
    throw error
  }
  return machine
}
