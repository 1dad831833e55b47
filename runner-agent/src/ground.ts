import type { Logger } from './log.js'

/** Environment variables by their names. */
export type Environment = Readonly<Record<string, string | undefined>>

/** What every room may need from outside of the program. It also ends what the rooms open. */
export interface Ground {
  readonly log: Logger
  readonly now: () => Date
  /** A number from 0 up to 1. */
  readonly random: () => number
  /** Environment variables of the agent. */
  readonly environment: Environment
  /** Runs a task once after so many milliseconds. The agent may end before. Returns what cancels it. */
  after(milliseconds: number, task: () => void): () => void
  /** Closes a part when the agent closes. The part that was opened last is closed first. */
  onClose(close: () => unknown): void
}

/** Who closes the parts of the agent. */
export interface PartsOwner {
  readonly onClose: Ground['onClose']
  /** True from the moment on when the parts are being closed. */
  readonly isClosing: boolean
  /**
   * Closes every part once, in the reverse order of opening. Later calls wait for the first one.
   * @throws the first error of a part, after all others were closed
   */
  close(): Promise<void>
}

/** An owner of no parts yet. */
export function createPartsOwner(): PartsOwner {
  const opened: (() => unknown)[] = []
  let closing: Promise<void> | null = null
  const closeAll = async (): Promise<void> => {
    const problems: unknown[] = []
    for (const close of opened.splice(0).reverse()) {
      try {
        await close()
      } catch (error) {
        problems.push(error)
      }
    }
    if (problems.length > 0) throw problems[0]
  }
  return {
    onClose: (close) => void opened.push(close),
    get isClosing() {
      return closing !== null
    },
    close: () => (closing ??= closeAll()),
  }
}

/** A timer of the process. It does not keep the process alive. */
export function systemAfter(milliseconds: number, task: () => void): () => void {
  const timer = setTimeout(task, milliseconds).unref()
  return () => {
    clearTimeout(timer)
  }
}
