/**
 * What a service tells the service manager that started it, in systemd's words (sd_notify(3)). This module only makes the
 * texts. Each program sends them in its own way.
 */
export const SERVICE_NOTICES = {
  /** The service does its work. */
  ready: (status: string): string[] => ['READY=1', statusLine(status)],
  /** The state is the same as before, and the words about it have changed. */
  status: (status: string): string[] => [statusLine(status)],
  /** The service reads its files again; `ready` follows. */
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

/** Makes a status one line: a second line would count as another notice. */
function statusLine(status: string): string {
  return `STATUS=${status.replaceAll(/\s+/g, ' ')}`
}
