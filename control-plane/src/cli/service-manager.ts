import { execFile } from 'node:child_process'
import { createSerialQueue } from '@holdfast/host/queues'
import { SERVICE_NOTICES, watchdogPeriod } from '@holdfast/protocol'

/** Tells the service manager that started this process how it is: systemd with `Type=notify`. */
export interface ServiceManager {
  /** Call when the service works, also after a reload. */
  ready(status: string): void
  reloading(): void
  stopping(): void
  /** Sends no further notices of the watchdog, and waits until all notices were sent. */
  close(): Promise<void>
}

/**
 * The program of systemd that sends notices. Node.js has no sockets of the kind on which systemd listens. Every host with
 * systemd has this program. It is started only a few times a minute.
 */
const SENDER = 'systemd-notify'
const SENDER_LIMIT_MS = 10_000

/**
 * Talks to the service manager that the environment names, or to nobody.
 * @param complain called once when notices cannot be sent. The service works without them
 */
export function connectServiceManager(
  environment: Readonly<Record<string, string | undefined>>,
  complain: (line: string) => void,
): ServiceManager {
  if (!environment.NOTIFY_SOCKET) return { ready() {}, reloading() {}, stopping() {}, close: async () => {} }
  // Notices are sent one after the other, because their order matters: "ready" after "reloads" says that the reload ended.
  const queue = createSerialQueue()
  let waiting = 0
  let hasComplained = false
  const send = (notices: readonly string[]): void => {
    waiting += 1
    void queue.add(async () => {
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
      return queue.idle()
    },
  }
}

/** Sends notices. @returns why they could not be sent; null: they were sent */
function sendNotices(notices: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(SENDER, [...notices], { timeout: SENDER_LIMIT_MS }, (error) => resolve(error?.message ?? null))
  })
}
