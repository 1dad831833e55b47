import { describeError } from './log.js'
import { systemAfter } from './ground.js'
import { type Agent, logOf, startAgent } from './main.js'
import { connectServiceManager, type ServiceManager } from './service-manager.js'
import { type AgentSettings, unknownSettings } from './settings.js'
import { StateInUseError } from './spool/state-lock.js'

/** Exit codes of `run`: they tell a service manager whether another try makes sense. */
export const EXIT_CODES = {
  stopped: 0,
  failed: 1,
  /** Settings or arguments are wrong: another try will not help. */
  usage: 2,
  /** Another agent works on the state folder. */
  stateInUse: 3,
  /** A second signal ended the agent before it had drained. */
  forced: 130,
} as const

/**
 * Runs an agent until a signal. The first SIGTERM or SIGINT drains, a second one ends at once; playbooks go on then.
 * @returns the exit code
 */
export async function runAgent(settings: AgentSettings, complain: (line: string) => void): Promise<number> {
  // The reader of the log is gone. That must not end the agent, and there is no place to report it.
  process.stdout.on('error', () => undefined)
  const log = logOf(settings)
  for (const { name, meant } of unknownSettings(process.env)) {
    log.warn({ name }, `there is no such setting${meant === null ? '' : `: is ${meant} meant?`}`)
  }
  const signals = countSignals()
  // Tools for log files and certificates often send SIGHUP. It means nothing to the agent; by default it would end it.
  process.on('SIGHUP', () => {
    log.info('a hang-up was asked for: the agent has nothing to read anew and goes on')
  })
  const manager = connectServiceManager({
    environment: process.env,
    after: systemAfter,
    log,
  })
  const starting = startAgent(settings, { log })
  try {
    const agent = await Promise.race([starting, signals.next()])
    if (agent) {
      manager.ready(() => statusOf(agent))
      return await untilStopped(agent, signals, manager)
    }
  } catch (error) {
    complain(describeError(error))
    return error instanceof StateInUseError ? EXIT_CODES.stateInUse : EXIT_CODES.failed
  } finally {
    manager.close()
  }
  // The agent runs no jobs yet, and it may wait for a program that hangs. So it ends at once.
  log.info('stopped before the start was complete')
  starting.then(
    (agent) => agent.kill(),
    () => undefined,
  )
  return EXIT_CODES.stopped
}

/** The first signal stops the agent in good order, every later one at once. */
async function untilStopped(agent: Agent, signals: Signals, manager: ServiceManager): Promise<number> {
  await signals.next()
  manager.stopping()
  const forced = signals.next().then(() => agent.kill())
  await Promise.race([agent.stop(), forced])
  return signals.count === 1 ? EXIT_CODES.stopped : EXIT_CODES.forced
}

/** The agent's state in one line, for `systemctl status`. */
function statusOf({ parts }: Agent): string {
  const reason = parts.approvalWatch.notReady()
  const { runningJobs } = parts.hostJobs.figures()
  const jobs = runningJobs === 1 ? '1 job runs' : `${runningJobs} jobs run`
  if (reason === null) return `takes jobs; ${jobs}`
  return `${typeof reason === 'string' ? reason : reason.problem}; ${jobs}`
}

interface Signals {
  readonly count: number
  /** Resolves at the next signal. */
  next(): Promise<void>
}

/**
 * SIGTERM and SIGINT. They are handled from the first moment on: the kernel ignores them for the first process of a container
 * as long as that process does not handle them.
 */
function countSignals(): Signals {
  let count = 0
  let wake: (() => void) | null = null
  const onSignal = (): void => {
    count += 1
    wake?.()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return {
    get count() {
      return count
    },
    next: () =>
      new Promise((resolve) => {
        wake = resolve
      }),
  }
}
