import { randomInt } from 'node:crypto'
import { createLog, describeError } from './log.js'
import { type Agent, startAgent } from './main.js'
import { findPython } from './playbook/python.js'
import type { AgentSettings } from './settings.js'
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

const RANDOM_STEPS = 2 ** 32

/**
 * Runs an agent until a signal. The first SIGTERM or SIGINT drains, a second one ends at once; playbooks go on then.
 * @returns the exit code
 */
export async function runAgent(settings: AgentSettings, complain: (line: string) => void): Promise<number> {
  // Whoever read the log is gone. That must not end the agent, and there is nowhere to tell it.
  process.stdout.on('error', () => undefined)
  const log = createLog({ level: settings.logLevel, format: settings.logFormat, output: process.stdout })
  let agent: Agent
  try {
    agent = await startAgent(settings, {
      log,
      now: () => new Date(),
      random: () => randomInt(RANDOM_STEPS) / RANDOM_STEPS,
      environment: { ...process.env },
      python: await findPython(process.env),
    })
  } catch (error) {
    complain(describeError(error))
    return error instanceof StateInUseError ? EXIT_CODES.stateInUse : EXIT_CODES.failed
  }
  return untilStopped(agent)
}

async function untilStopped(agent: Agent): Promise<number> {
  let signals = 0
  return new Promise((resolve, reject) => {
    const onSignal = (): void => {
      signals += 1
      const ending = signals === 1 ? agent.stop() : agent.kill()
      ending.then(() => {
        resolve(signals === 1 ? EXIT_CODES.stopped : EXIT_CODES.forced)
      }, reject)
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}
