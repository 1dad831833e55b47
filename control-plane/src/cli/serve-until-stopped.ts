import { SettingsError } from '@holdfast/protocol'
import { DatabaseHeldError, InvalidInputError, messageOf } from '../errors.js'
import { CliError, UsageError } from './errors.js'
import { EXIT, type ExitCode } from './exit-codes.js'
import type { ServiceManager } from './service-manager.js'

/** What was started and can be closed. */
export interface Service {
  /** Where it listens. */
  readonly address: string
  /** Reads anew what lies in files and is not looked at by itself. A wrong file changes nothing. */
  reload(): Promise<void>
  close(): Promise<void>
}

/** What the service is started with. */
export interface ServeNeeds {
  readonly start: () => Promise<Service>
  readonly say: (line: string) => Promise<void>
  readonly manager: ServiceManager
  /** False where a hang-up means that the terminal of this process is gone: it ends then, as any program does. */
  readonly reloadsAtHangUp: boolean
}

/** How long a stop may take before it is said that it takes long. */
const SLOW_STOP_MS = 10_000

/**
 * Runs the service until a signal asks for its end. The first SIGTERM or SIGINT closes it in good order; a second one
 * finds no handler any more, so the process ends by that signal at once and its parent sees why. SIGHUP reloads.
 */
export async function serveUntilStopped({ start, say, manager, reloadsAtHangUp }: ServeNeeds): Promise<ExitCode> {
  const signals = firstSignal()
  // From the first moment on: a reload that comes during the start must not end it. What it asks for happens anyway.
  const hangUps = reloadsAtHangUp ? hearHangUps() : null
  try {
    const service = await startOrSay(start)
    const status = `listens at ${service.address}`
    manager.ready(status)
    hangUps?.handle(async () => {
      manager.reloading()
      try {
        await service.reload()
      } catch (error) {
        await say(`holdfast could not reload and goes on as before: ${messageOf(error)}`)
      }
      manager.ready(status)
    })
    const signal = await signals.received
    manager.stopping()
    await say(`holdfast is stopping (${signal}); a second signal ends it at once`)
    const slow = setTimeout(
      () => void say('holdfast is still stopping: requests or writes are under way'),
      SLOW_STOP_MS,
    )
    try {
      await service.close()
    } finally {
      clearTimeout(slow)
    }
    return EXIT.ok
  } finally {
    signals.forget()
    hangUps?.forget()
    await manager.close()
  }
}

/** Hears SIGHUP from now on, and does something at each one as soon as it is known what. */
function hearHangUps(): { handle(reload: () => Promise<void>): void; forget(): void } {
  let reload: (() => Promise<void>) | null = null
  let reloading = Promise.resolve()
  const hear = (): void => {
    // One after the other: each of them reads what is there when it begins.
    if (reload) reloading = reloading.then(reload)
  }
  process.on('SIGHUP', hear)
  return {
    handle: (given) => void (reload = given),
    forget: () => void process.removeListener('SIGHUP', hear),
  }
}

/** Hears one signal that asks for the end; after that signals do what they do in any program. */
function firstSignal(): { readonly received: Promise<NodeJS.Signals>; forget(): void } {
  const names: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']
  let forget = (): void => undefined
  const received = new Promise<NodeJS.Signals>((resolve) => {
    const hear = (signal: NodeJS.Signals): void => {
      forget()
      resolve(signal)
    }
    forget = () => {
      for (const name of names) process.removeListener(name, hear)
    }
    for (const name of names) process.on(name, hear)
  })
  return { received, forget: () => forget() }
}

async function startOrSay(start: () => Promise<Service>): Promise<Service> {
  try {
    return await start()
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message, { cause: error })
    // What a start takes in beside its settings' form is the first account.
    if (error instanceof InvalidInputError) {
      throw new UsageError(`ADMIN_USERNAME, ADMIN_PASSWORD: ${error.message}`, { cause: error })
    }
    if (error instanceof DatabaseHeldError) {
      throw new CliError(EXIT.databaseHeld, `${upperFirst(error.message)}.`, { cause: error })
    }
    const { code, address, port } = error as { code?: string; address?: string; port?: number }
    if (code === 'EADDRINUSE') {
      throw new CliError(EXIT.unexpected, `Port ${port} at ${address} is taken. Choose another one with --port.`)
    }
    if (code === 'EACCES' && port !== undefined) {
      // Trying again does not help, so a service manager must not: a wrong setting, like any other.
      throw new UsageError(
        `Not allowed to listen on port ${port}. Choose one from 1024 up with --port, or give the service the right: ` +
          'AmbientCapabilities=CAP_NET_BIND_SERVICE in its unit.',
        { cause: error },
      )
    }
    throw error
  }
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
