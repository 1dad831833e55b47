import { execFile, spawn, spawnSync } from 'node:child_process'
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
  const { status, stderr } = spawnSync('unshare', ['--mount', '--pid', '--fork', '--cgroup', 'bash', '-c', probe], {
    encoding: 'utf8',
    env: { ...process.env, LOWER },
  })
  return status === 0 ? null : `namespaces with a systemd cannot be made here: ${stderr.trim()}`
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
  const run = (script: string, input = ''): Promise<Ran> =>
    new Promise((resolve) => {
      const command = ['--target', firstProcess(), '--all', 'bash', '-c', script]
      const child = execFile('nsenter', command, { maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
        resolve({ status: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr })
      })
      // A command that reads nothing may be gone before it is given anything; how it ended is what counts.
      child.stdin?.on('error', () => undefined)
      child.stdin?.end(input)
    })
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
    async reboot(how) {
      const before = firstProcess()
      if (how === 'orderly') await run('systemctl reboot')
      else process.kill(Number(before), 'SIGKILL')
      await waitFor('the next boot', () => firstProcess() !== before)
      await up()
    },
    async close() {
      holder.kill('SIGKILL')
      await ended
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
