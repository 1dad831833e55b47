import type { PartsOwner } from '@holdfast/host/parts-owner'
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
  readonly onClose: PartsOwner['onClose']
}

/** A timer of the process. It does not keep the process alive. */
export function systemAfter(milliseconds: number, task: () => void): () => void {
  const timer = setTimeout(task, milliseconds).unref()
  return () => {
    clearTimeout(timer)
  }
}
