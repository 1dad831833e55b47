import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitUntil } from './waiting.js'

const COMMAND = fileURLToPath(new URL('../../runner-agent/bin/holdfast-runner.js', import.meta.url))

export interface LogLine {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** The real agent in a process of its own. */
export class AgentProcess {
  readonly #child: ChildProcess
  #output = ''
  #errors = ''
  #exit: { code: number | null; signal: NodeJS.Signals | null } | null = null

  private constructor(args: string[], environment: Record<string, string>, through: readonly string[] = []) {
    const [program = COMMAND, ...before] = [...through, COMMAND]
    this.#child = spawn(program, [...before, ...args], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stdout?.on('data', (data: Buffer) => (this.#output += data.toString()))
    this.#child.stderr?.on('data', (data: Buffer) => (this.#errors += data.toString()))
    this.#child.once('exit', (code, signal) => (this.#exit = { code, signal }))
  }

  /** Starts `holdfast-runner run` on a state folder; port 0, JSON log. `through`: a program that is to start it. */
  static run(
    appUrl: string,
    statePath: string,
    environment: Record<string, string> = {},
    through: readonly string[] = [],
  ): AgentProcess {
    const settings = {
      APP_URL: appUrl,
      RTE_STATE_PATH: statePath,
      RTE_NAME: 'rte-test',
      PORT: '0',
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'debug',
    }
    return new AgentProcess(['run'], { ...settings, ...environment }, through)
  }

  /** Runs a command to its end. */
  static async command(args: string[], environment: Record<string, string> = {}): Promise<CommandResult> {
    const agent = new AgentProcess(args, environment)
    const { code } = await agent.exited()
    return { code, output: agent.#output, errors: agent.#errors }
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get output(): string {
    return this.#output
  }

  get errors(): string {
    return this.#errors
  }

  get log(): LogLine[] {
    return this.#output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as LogLine)
  }

  async logged(text: string): Promise<LogLine> {
    return waitUntil(`the agent logs "${text}"`, () => this.log.find((line) => line.msg.includes(text)))
  }

  /** A path of the agent's own web server. */
  async probe(path: string): Promise<{ status: number; body: string }> {
    const { address } = await this.logged('probes are answered here')
    const response = await fetch(`${String(address)}${path}`)
    return { status: response.status, body: await response.text() }
  }

  signal(name: NodeJS.Signals): void {
    if (!this.#exit) this.#child.kill(name)
  }

  async exited(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    return waitUntil('the agent ends', () => this.#exit, 60_000)
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.exited()
  }
}

export interface CommandResult {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** The one job folder in an agent's spool; null while there is none. */
export function spooledJob(statePath: string): string | null {
  const jobs = join(statePath, 'spool', 'jobs')
  const [name] = existsSync(jobs) ? readdirSync(jobs) : []
  return name === undefined ? null : join(jobs, name)
}

/** The pid of the supervisor of the one job in the spool; null while it has not started. */
export function supervisorPid(statePath: string): number | null {
  try {
    const started = JSON.parse(readFileSync(join(spooledJob(statePath) ?? '', 'started.json'), 'utf8')) as {
      pid: number
    }
    return started.pid
  } catch {
    return null
  }
}

/** Pids of the keeper and the supervisor of the one job in the spool, in this order, as long as they live. */
export function supervisorsOf(statePath: string): number[] {
  const folder = spooledJob(statePath)
  if (folder === null) return []
  return processesWith('cmdline', `${folder}\0`).sort((one, other) => one - other)
}

/** Kills one of the two, which must be there. */
export function killOne(statePath: string, which: 'keeper' | 'supervisor'): void {
  const [keeper, supervisor] = supervisorsOf(statePath)
  if (keeper === undefined || supervisor === undefined) throw new Error('keeper and supervisor are not both there')
  process.kill(which === 'keeper' ? keeper : supervisor, 'SIGKILL')
}

/** The pid of the playbook of the one job in the spool, which has started. */
export function playbookPid(statePath: string): number {
  const text = readFileSync(join(spooledJob(statePath) ?? '', 'playbook.json'), 'utf8')
  return (JSON.parse(text) as { pid: number }).pid
}

/** Pids of processes that carry a job's marker in their environment. */
export function processesOf(runId: string): number[] {
  return processesWith('environ', `HOLDFAST_JOB_MARKER=${runId}\0`)
}

/** Pids of processes that have a path in their arguments or environment: supervisors and what they started. */
export function processesThatName(path: string): number[] {
  return [...processesWith('cmdline', path), ...processesWith('environ', path)]
}

function processesWith(file: 'environ' | 'cmdline', text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(text)
      } catch {
        return false
      }
    })
}
