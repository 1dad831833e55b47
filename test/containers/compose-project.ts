import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../support/product.js'
import { waitFor } from '../support/wait.js'

/** What the recipes begin with. */
const BASE_IMAGE = 'docker.io/library/debian:bookworm-slim'

/** How a program ended. */
export interface Ran {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * The compose file of the packages, brought up by podman-compose. Images and containers are in a folder of this test's
 * own, and the network of the containers is in a network namespace of its own: nothing of the host's is changed.
 */
export interface ComposeProject {
  /** Runs podman-compose beside the compose file. @throws Error when it fails */
  compose(...words: string[]): Promise<string>
  podman(...words: string[]): Promise<Ran>
  /** Runs words in the container of a service, as the user of its image. @throws Error when they fail */
  inside(service: string, words: readonly string[], input?: string): Promise<string>
  close(): Promise<void>
}

/** Why no compose file can be played here; null: it can. */
export function whyNoCompose(): string | null {
  if (process.env.CONTAINER_BASE === undefined) return 'CONTAINER_BASE names no archive of the root folder of a Debian'
  if (process.getuid?.() !== 0) return 'only root can make its networks'
  const missing = ['podman', 'podman-compose', 'dpkg-deb'].filter((program) => spawnSync(program, ['--version']).error)
  return missing.length === 0 ? null : `${missing.join(', ')} is not installed`
}

/**
 * Builds the packages (unless `SYSTEMD_PACKAGES` names a folder with them) and by their recipes both images.
 * @param base an archive of the root folder of a Debian, which becomes the image that the recipes begin with
 */
export async function buildProject(base: string): Promise<ComposeProject> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-compose-'))
  const packages = join(folder, 'packages')
  const environment = { ...process.env, ...engineBelow(folder) }
  // It has the networks of the containers, and ends with this process, however that ends.
  const network = spawn('setpriv', [
    '--pdeathsig',
    'KILL',
    'unshare',
    '--net',
    '--mount',
    'bash',
    '--norc',
    '-c',
    'mount --make-rprivate / && ip link set lo up && echo 1 >/proc/sys/net/ipv4/ip_forward && exec sleep infinity',
  ])
  const ended = new Promise((resolve) => network.once('exit', resolve))
  const run = (program: string, words: readonly string[], input = ''): Promise<Ran> =>
    new Promise((resolve) => {
      const options = { cwd: packages, env: environment, maxBuffer: 64 << 20 }
      const child = execFile(program, words, options, (error, stdout, stderr) => {
        resolve({ status: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr })
      })
      child.stdin?.on('error', () => undefined)
      child.stdin?.end(input)
    })
  const must = async (program: string, words: readonly string[], input?: string): Promise<string> => {
    const { status, stdout, stderr } = await run(program, words, input)
    if (status !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${status}: ${stdout}${stderr}`)
    return stdout
  }
  const there = ['--target', String(network.pid), '--net', '--mount', `--wd=${packages}`]
  const project: ComposeProject = {
    compose: (...words) => must('nsenter', [...there, 'podman-compose', ...words]),
    podman: (...words) => run('nsenter', [...there, 'podman', ...words]),
    inside: (service, words, input) =>
      must('nsenter', [...there, 'podman', 'exec', '--interactive', `packages_${service}_1`, ...words], input),
    async close() {
      await project.podman('rm', '--all', '--force', '--time', '0')
      network.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
  try {
    mkdirSync(packages)
    if (process.env.SYSTEMD_PACKAGES === undefined) {
      execFileSync('node', ['scripts/lib/package/main.js', '--output', packages], { cwd: ROOT, stdio: 'pipe' })
    } else cpSync(process.env.SYSTEMD_PACKAGES, packages, { recursive: true })
    await must('podman', ['import', base, BASE_IMAGE])
    // What the recipes install beside our packages comes by the network of the host.
    await must('podman-compose', ['--podman-build-args=--network=host', 'build'])
    await waitFor('the network', () => existsSync(`/proc/${network.pid}/ns/net`))
    return project
  } catch (error) {
    await project.close()
    throw error
  }
}

/** Settings of podman for what lies in a folder. @returns the environment that names them */
function engineBelow(folder: string): Record<string, string> {
  const place = (name: string): string => join(folder, name)
  const runtime = spawnSync('runc', ['--version']).status === 0 ? ['runtime = "runc"'] : []
  const storage = ['[storage]', 'driver = "overlay"', `graphroot = "${place('images')}"`, `runroot = "${place('run')}"`]
  const limits = ['[containers]', 'default_ulimits = ["nofile=1024:4096", "nproc=1000:1000"]']
  const engine = ['[engine]', 'cgroup_manager = "cgroupfs"', 'events_logger = "none"', ...runtime]
  const networks = ['[network]', `network_config_dir = "${place('networks')}"`]
  writeFileSync(place('storage.conf'), storage.join('\n'))
  writeFileSync(place('containers.conf'), [...limits, ...engine, ...networks].join('\n'))
  return {
    CONTAINERS_CONF: place('containers.conf'),
    CONTAINERS_STORAGE_CONF: place('storage.conf'),
    BUILDAH_FORMAT: 'docker',
  }
}
