/**
 * What a service tells the service manager that started it, in systemd's words (sd_notify(3)). Here are the words only:
 * each program sends them in a way of its own.
 */
export const SERVICE_NOTICES = {
  /** The service does its work. */
  ready: (status: string): string[] => ['READY=1', statusLine(status)],
  /** The same as before, with other words about it. */
  status: (status: string): string[] => [statusLine(status)],
  /** What it reads from outside is read anew; `ready` follows. */
  reloading: (): string[] => ['RELOADING=1', statusLine('reads its configuration anew')],
  stopping: (status: string): string[] => ['STOPPING=1', statusLine(status)],
  /** The service still works on its tasks. */
  alive: (): string[] => ['WATCHDOG=1'],
}

/**
 * How often the service manager wants to hear that the service still works, in milliseconds: half of the time after
 * which it starts the service anew. Null: it does not watch this process.
 */
export function watchdogPeriod(environment: Readonly<Record<string, string | undefined>>, pid: number): number | null {
  const microseconds = Number(environment.WATCHDOG_USEC)
  const isForUs = environment.WATCHDOG_PID === undefined || Number(environment.WATCHDOG_PID) === pid
  if (!isForUs || !Number.isFinite(microseconds) || microseconds <= 0) return null
  return microseconds / 1000 / 2
}

/** A status is one line: a second one would be a notice of its own. */
function statusLine(status: string): string {
  return `STATUS=${status.replaceAll(/\s+/g, ' ')}`
}
