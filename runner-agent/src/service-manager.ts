import { writeSync } from 'node:fs'
import { SERVICE_NOTICES, watchdogPeriod } from '@holdfast/protocol'
import type { Ground } from './ground.js'

/** How often the words about the agent's state are compared with the last ones, in milliseconds. */
const LOOK_AT_STATUS_MS = 2_000

/** The service manager that started the agent. It hears of the agent when it is systemd with `Type=notify`. */
export interface ServiceManager {
  /** Says that the agent does its work. From now on each change of its state is told. */
  ready(status: () => string): void
  stopping(): void
  close(): void
}

/**
 * Talks to the service manager over the socket that `bin/with-service-manager.py` opened. Without one it does nothing.
 * The agent goes on working when a notice cannot be sent.
 */
export function connectServiceManager({
  environment,
  after,
  log,
}: Pick<Ground, 'environment' | 'after' | 'log'>): ServiceManager {
  const descriptor = Number(environment.HOLDFAST_NOTIFY_FD ?? Number.NaN)
  if (!Number.isInteger(descriptor)) {
    if (environment.NOTIFY_SOCKET) {
      log.warn('systemd waits for notices, which need bin/with-service-manager.py in the line ExecStart of the unit')
    }
    return { ready() {}, stopping() {}, close() {} }
  }
  let hasComplained = false
  const send = (notices: readonly string[]): void => {
    try {
      writeSync(descriptor, notices.join('\n'))
    } catch (error) {
      if (!hasComplained) log.warn({ error }, 'the service manager cannot be told how this agent is')
      hasComplained = true
    }
  }
  const cancels = new Map<string, () => void>()
  /** Runs a task again and again until the end. */
  const repeat = (name: string, periodMs: number, task: () => void): void => {
    cancels.set(
      name,
      after(periodMs, () => {
        task()
        repeat(name, periodMs, task)
      }),
    )
  }
  const period = watchdogPeriod(environment, process.pid)
  if (period !== null) repeat('watchdog', period, () => send(SERVICE_NOTICES.alive()))
  let said = ''
  return {
    ready(status) {
      said = status()
      send(SERVICE_NOTICES.ready(said))
      repeat('status', LOOK_AT_STATUS_MS, () => {
        const now = status()
        if (now !== said) send(SERVICE_NOTICES.status(now))
        said = now
      })
    },
    stopping() {
      cancels.get('status')?.()
      send(SERVICE_NOTICES.stopping('takes no new jobs and waits for those that run'))
    },
    close() {
      for (const cancel of cancels.values()) cancel()
    },
  }
}
