import type { ComponentType, RefObject } from 'preact'
import type { LineEvents } from '../live/line-events.js'
import type { OutputSource } from '../live/output-source.js'
import type { MoreAction } from './keys.js'
import type { Sought } from './log-model.js'
import type { LogSession } from './log-session.js'
import type { ToolsProps } from './log-tools.js'

/** How a view asks for what is loaded after its first lines. */
export interface MoreActions {
  /** What somebody asked for last. */
  wanted: MoreAction | null
  /** Does it; null: it is not loaded yet. */
  act: (() => void) | null
}

/** An output, and what a page does for its view. */
export interface LogViewProps {
  readonly jobId: number
  /** Bytes of output that the job reports. When they are more than what is shown, the view reads on. */
  readonly bytes: number
  /** Events that the job reports. */
  readonly events: number
  readonly isOver: boolean
  /** Another output than the whole one of the job. */
  readonly source?: OutputSource & { readonly events: LineEvents }
  /** Only the output of a host or a task is shown. */
  readonly isLimited: boolean
  /** Only output that tells of these is shown; empty: all. */
  readonly outcomes: readonly string[]
  onOutcome(outcome: string): void
  /** Shows the result that an event brought. */
  onEvent(order: number): void
  /** Loads what is not needed for the first lines. */
  more(): Promise<ExtraParts>
}

/** What the parts of a view that are loaded later need of it. */
export interface ExtrasProps {
  readonly view: LogViewProps
  readonly session: RefObject<LogSession | null>
  readonly scroller: RefObject<HTMLElement | null>
  readonly actions: MoreActions
}

/** What the search field needs of the view. */
export interface FindProps extends ToolsProps {
  /** What was looked for before the page was loaded again; null: somebody opens the field now. */
  readonly sought: Sought | null
  onClose(): void
}

/** The parts of a view that are loaded after its first lines. */
export interface ExtraParts {
  readonly LogExtras: ComponentType<ExtrasProps>
  readonly LogFind: ComponentType<FindProps>
  readonly HitMarks: ComponentType<{ readonly marks: readonly number[] }>
}
