import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endRecordSchema, parseJson, type EndRecord } from '@holdfast/protocol'
import { execa } from 'execa'
import { expect, onTestFinished } from 'vitest'
import { eventsOf, type Event } from './events.js'
import { measure, processesNaming, processesOf, tryKill } from './observe.js'

export const agentFolder = fileURLToPath(new URL('../../runner-agent/ansible/', import.meta.url))
export const fixtures = fileURLToPath(new URL('./fixtures/', import.meta.url))
const supervisor = join(agentFolder, 'supervisor.py')
const callbackFolder = join(agentFolder, 'callback')

/** The programs by their full paths, and the Python that ansible itself runs with. */
const ansiblePlaybook = findProgram('ansible-playbook')
export const python = readFileSync(ansiblePlaybook, 'utf8').split('\n', 1)[0]?.split(/[! ]/).at(-1) ?? 'python3'

/** The supervisor needs no ansible: HOLDFAST_TEST_PYTHON names another Python to prove it with. */
export const supervisorPython = process.env['HOLDFAST_TEST_PYTHON'] ?? python

function findProgram(name: string): string {
  const found = (process.env['PATH'] ?? '').split(':').find((folder) => existsSync(join(folder, name)))
  if (found === undefined) throw new Error(`${name} is not in PATH`)
  return join(found, name)
}

export interface Orders {
  argv: string[]
  cwd?: string
  env?: Record<string, string>
  outputLimit?: number
  ladder?: { interrupt: number; terminate: number }
  drain?: { quiet: number; total: number }
  /** Where the job folder is made; the system's temporary folder by default. */
  below?: string
}

/** A job folder as the agent makes it (docs/job-folder.md), and the supervisor that is started on it. */
export class JobFolder {
  private process: ReturnType<typeof JobFolder.spawn> | undefined

  private constructor(
    readonly path: string,
    readonly runId: string,
    readonly marker: string,
  ) {}

  /** Removed with the test that made it, or by the `suite` that keeps it for several tests. */
  static async create(orders: Orders, owner: 'test' | 'suite' = 'test'): Promise<JobFolder> {
    const runId = randomBytes(16).toString('hex')
    const marker = randomBytes(16).toString('hex')
    const parent = await mkdtemp(join(orders.below ?? tmpdir(), 'holdfast-job-'))
    const job = new JobFolder(join(parent, `1-${runId}`), runId, marker)
    await mkdir(job.path, { mode: 0o700 })
    const content = {
      run_id: runId,
      argv: orders.argv,
      cwd: orders.cwd ?? job.path,
      env: { PATH: process.env['PATH'] ?? '', HOLDFAST_JOB_MARKER: marker, ...orders.env },
      marker,
      output_limit_bytes: orders.outputLimit ?? 50 * 1024 * 1024,
      abort_ladder_seconds: orders.ladder ?? { interrupt: 10, terminate: 5 },
      drain_seconds: orders.drain ?? { quiet: 1, total: 5 },
    }
    await writeFile(job.file('supervisor.json'), JSON.stringify(content), { mode: 0o600 })
    if (owner === 'test') onTestFinished(() => job.remove())
    return job
  }

  /** A job that runs ansible-playbook with the event callback, as the agent sets it up. */
  static async ofPlaybook(
    folder: string,
    args: string[],
    more: Partial<Orders> = {},
    owner: 'test' | 'suite' = 'test',
  ): Promise<JobFolder> {
    const job = await JobFolder.create({ argv: [], cwd: folder, ...more }, owner)
    const orders = JSON.parse(await readFile(job.file('supervisor.json'), 'utf8')) as {
      argv: string[]
      env: Record<string, string>
    }
    orders.argv = [ansiblePlaybook, ...args]
    orders.env = {
      ...orders.env,
      HOME: process.env['HOME'] ?? '/',
      LANG: 'C.UTF-8',
      PYTHONUNBUFFERED: '1',
      ANSIBLE_FORCE_COLOR: '1',
      ANSIBLE_CALLBACK_PLUGINS: callbackFolder,
      ANSIBLE_CALLBACKS_ENABLED: 'holdfast_events',
      HOLDFAST_EVENTS_FILE: job.file('events.jsonl'),
      HOLDFAST_CALLBACK_FILE: job.file('callback.json'),
    }
    await writeFile(job.file('supervisor.json'), JSON.stringify(orders))
    return job
  }

  /** For orders that must name the job folder itself. */
  async replaceInOrders(word: string, by: string): Promise<void> {
    const text = await readFile(this.file('supervisor.json'), 'utf8')
    await writeFile(this.file('supervisor.json'), text.replaceAll(word, by))
  }

  file(name: string): string {
    return join(this.path, name)
  }

  private static spawn(program: string, args: string[], input?: string, env: Readonly<Record<string, string>> = {}) {
    const stdin = input === undefined ? { stdin: 'ignore' as const } : { input }
    return execa(program, args, { ...stdin, env, detached: true, cleanup: false, reject: false })
  }

  /** Starts the supervisor; `through` is a shell command that is to exec it ("$@"). */
  start(through = 'exec "$@"'): void {
    this.process = JobFolder.spawn('sh', ['-c', through, 'sh', supervisorPython, '-I', '-S', supervisor, this.path])
  }

  /** Starts the supervisor of a job that has secrets, with what it is told of them. @param env of the supervisor, beside ours */
  startWithSecrets(input: string, env: Readonly<Record<string, string>> = {}): void {
    this.process = JobFolder.spawn(supervisorPython, ['-I', '-S', supervisor, this.path, 'secrets'], input, env)
  }

  /** Starts a supervisor in which something is broken by a line of Python. */
  startBroken(line: string): void {
    const code = `import sys; sys.path.insert(0, ${JSON.stringify(agentFolder)}); from holdfast_job import output_log, start\n${line}\nsys.exit(start.main(sys.argv))`
    this.process = JobFolder.spawn(supervisorPython, ['-I', '-S', '-c', code, this.path])
  }

  /** The exit code of the supervisor itself. */
  async exitOfSupervisor(): Promise<number | undefined> {
    if (!this.process) throw new Error('the supervisor was not started')
    return (await this.process).exitCode
  }

  /** Pids of the keeper and its supervisor, in this order, as long as they live. */
  async supervisors(): Promise<number[]> {
    return processesNaming(this.path)
  }

  /** The pid of the supervisor that the keeper watches over. */
  async supervisorBesideKeeper(): Promise<number> {
    const [, supervisor] = await this.supervisors()
    if (supervisor === undefined) throw new Error('no supervisor is there beside its keeper')
    return supervisor
  }

  get supervisorPid(): number {
    const pid = this.process?.pid
    if (pid === undefined) throw new Error('the supervisor was not started')
    return pid
  }

  async run(): Promise<EndRecord> {
    this.start()
    return this.end()
  }

  /** Waits for the end and checks that it tells the truth about both streams. */
  async end(): Promise<EndRecord> {
    expect(await this.exitOfSupervisor()).toBe(0)
    const end = parseJson(endRecordSchema, await readFile(this.file('end.json'), 'utf8'))
    expect(end.run_id).toBe(this.runId)
    for (const [name, said] of [
      ['output.log', end.output],
      ['events.jsonl', end.events],
    ] as const) {
      const { length, sha256 } = await measure(this.file(name))
      expect({ name, length: said.length, sha256: said.sha256 }).toEqual({ name, length, sha256 })
    }
    expect(await processesOf(this.marker)).toEqual([])
    return end
  }

  async abort(): Promise<void> {
    await writeFile(this.file('abort.json'), JSON.stringify({ time: new Date().toISOString() }), { mode: 0o600 })
    process.kill(this.supervisorPid, 'SIGTERM')
  }

  output(): Promise<string> {
    return readFile(this.file('output.log'), 'utf8')
  }

  /** All events; each line must be an event of the contract, and their numbers 1, 2, 3 … */
  async events(): Promise<Event[]> {
    const text = await readFile(this.file('events.jsonl'), 'utf8')
    return eventsOf(text)
  }

  async report(): Promise<Record<string, unknown>> {
    return JSON.parse(await readFile(this.file('callback.json'), 'utf8')) as Record<string, unknown>
  }

  async remove(): Promise<void> {
    if (this.process && this.process.exitCode === null) {
      await this.abort().catch(() => undefined)
      for (const pid of await processesOf(this.marker)) tryKill(pid)
      await this.process
    }
    for (const pid of await this.supervisors()) tryKill(pid)
    await rm(dirname(this.path), { recursive: true, force: true })
  }
}
