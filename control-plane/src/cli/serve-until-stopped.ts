import { SettingsError } from '@holdfast/protocol'
import { DatabaseHeldError, InvalidInputError } from '../errors.js'
import { CliError, UsageError } from './errors.js'
import { EXIT, type ExitCode } from './exit-codes.js'

/** What was started and can be closed. */
export interface Service {
  close(): Promise<void>
}

/** How long a stop may take before it is said that it takes long. */
const SLOW_STOP_MS = 10_000

/**
 * Runs the service until a signal asks for its end. The first SIGTERM or SIGINT closes it in good order; a second one
 * finds no handler any more, so the process ends by that signal at once and its parent sees why.
 */
export async function serveUntilStopped(
  start: () => Promise<Service>,
  say: (line: string) => Promise<void>,
): Promise<ExitCode> {
  const signals = firstSignal()
  try {
    const service = await startOrSay(start)
    const signal = await signals.received
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
      throw new CliError(EXIT.unexpected, `Not allowed to listen on port ${port}. Choose one from 1024 up with --port.`)
    }
    throw error
  }
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
