import { createSerialQueue } from '@holdfast/host/queues'
import { SettingsError } from '@holdfast/protocol'
import { DatabaseHeldError, InvalidInputError, messageOf } from '../errors.js'
import { CliError, UsageError } from './errors.js'
import { EXIT, type ExitCode } from './exit-codes.js'
import type { ServiceManager } from './service-manager.js'

/** A running service that can be closed. */
export interface Service {
  /** Where it listens. */
  readonly address: string
  /** Reads those files again that the service does not watch. A wrong file changes nothing. */
  reload(): Promise<void>
  close(): Promise<void>
}

/** After this time a notice says that the stop takes long, in milliseconds. */
const SLOW_STOP_MS = 10_000

/**
 * Runs the service until a signal asks for its end. The first SIGTERM or SIGINT closes it in good order. A second one finds
 * no handler any more. So it ends the process at once, and the parent process sees the signal. SIGHUP reloads.
 */
export async function serveUntilStopped(deps: {
  readonly start: () => Promise<Service>
  /** Writes a notice. It must not fail, because the service goes on and stops in good order without a reader, too. */
  readonly say: (line: string) => Promise<void>
  readonly manager: ServiceManager
  /** False at a terminal. There SIGHUP means that the terminal is gone, and it ends the process as it ends any program. */
  readonly reloadsAtHangUp: boolean
}): Promise<ExitCode> {
  const { start, say, manager, reloadsAtHangUp } = deps
  const signals = firstSignal()
  // SIGHUP is heard from now on, because it must not end the process during the start. The start reads all files anyway.
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

/** Hears SIGHUP from now on. After `handle` was called, each signal starts a reload. */
function hearHangUps(): { handle(reload: () => Promise<void>): void; forget(): void } {
  let reload: (() => Promise<void>) | null = null
  const reloads = createSerialQueue()
  const hear = (): void => {
    // Reloads run one after the other. Each reads the files as they are when it begins.
    if (reload) void reloads.add(reload)
  }
  process.on('SIGHUP', hear)
  return {
    handle: (given) => void (reload = given),
    forget: () => void process.removeListener('SIGHUP', hear),
  }
}

/** Hears one signal that asks for the end. After it, signals do what they do in any program. */
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
    // The first account is the only input that the start checks beside the settings.
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
      // Another try does not help. So this is a UsageError: at its exit code no service manager starts the service again.
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
