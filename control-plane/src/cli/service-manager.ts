import { execFile } from 'node:child_process'
import { SERVICE_NOTICES, watchdogPeriod } from '@holdfast/protocol'

/** The service manager that started this process, as far as it wants to hear of it: systemd with `Type=notify`. */
export interface ServiceManager {
  /** The service does its work; also after a reload. */
  ready(status: string): void
  reloading(): void
  stopping(): void
  /** Says nothing any more, and waits for what is being said. */
  close(): Promise<void>
}

/**
 * Node.js has no sockets of the kind that systemd listens on, so systemd's own program says it. It is there wherever
 * systemd is, and it is started only a few times a minute.
 */
const SENDER = 'systemd-notify'
const SENDER_LIMIT_MS = 10_000

/**
 * Talks to the service manager that the environment names, or to nobody.
 * @param complain hears once that notices cannot be sent: the service works without them
 */
export function connectServiceManager(
  environment: Readonly<Record<string, string | undefined>>,
  complain: (line: string) => void,
): ServiceManager {
  if (!environment.NOTIFY_SOCKET) return { ready() {}, reloading() {}, stopping() {}, close: async () => {} }
  // One after the other: "ready" after "reloads" means something else than before it.
  let sent = Promise.resolve()
  let waiting = 0
  let hasComplained = false
  const send = (notices: readonly string[]): void => {
    waiting += 1
    sent = sent.then(async () => {
      const problem = await sendNotices(notices)
      waiting -= 1
      if (problem === null || hasComplained) return
      hasComplained = true
      complain(`the service manager cannot be told how this service is: ${problem}`)
    })
  }
  const period = watchdogPeriod(environment, process.pid)
  const watchdog =
    period === null
      ? null
      : setInterval(() => {
          if (waiting === 0) send(SERVICE_NOTICES.alive())
        }, period).unref()
  return {
    ready: (status) => send(SERVICE_NOTICES.ready(status)),
    reloading: () => send(SERVICE_NOTICES.reloading()),
    stopping: () => send(SERVICE_NOTICES.stopping('stops in good order')),
    close() {
      if (watchdog) clearInterval(watchdog)
      return sent
    },
  }
}

/** @returns why it did not work; null: it worked */
function sendNotices(notices: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(SENDER, [...notices], { timeout: SENDER_LIMIT_MS }, (error) => resolve(error?.message ?? null))
  })
}
