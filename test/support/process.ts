import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'

/** A program of the product as a process of its own, with everything it said. */
export interface RunningProcess {
  readonly pid: number
  readonly said: () => string
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  readonly isRunning: () => boolean
  /** Sends a signal and waits for the end of the process. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** Environment for a child: this one's without what would configure the product. */
export function cleanEnvironment(additions: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(RTE_|APP_|HOLDFAST_|ANSIBLE_|VITEST|NODE_OPTIONS)/.test(name),
  )
  return { ...Object.fromEntries(inherited), ...additions }
}

/** Starts a program of the product as its users do, by its own first line. What it says is kept, and logged to `logPath`. */
export function startProgram(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  options: { readonly cwd?: string; readonly logPath?: string } = {},
): RunningProcess {
  const child: ChildProcess = spawn(program, args, {
    env: cleanEnvironment(environment),
    cwd: options.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (options.logPath) appendFileSync(options.logPath, text)
    })
  }
  const exited = once(child, 'exit').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }))
  if (child.pid === undefined) throw new Error(`could not start ${program}`)
  return {
    pid: child.pid,
    said: () => said,
    exited,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      await exited
    },
  }
}
