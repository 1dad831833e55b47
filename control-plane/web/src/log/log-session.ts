import { type FollowState, type Follower, createFollower } from '../live/follower.js'
import type { OutputSource } from '../live/output-source.js'
import { listenToGestures } from './gestures.js'
import { type KeyActions, pressKey } from './keys.js'
import { type LineRange, hashOfLines, isNamedPlace, linesOfHash } from './line-link.js'
import { type LogModel, NOTHING_SOUGHT, type Sought, createLogModel } from './log-model.js'
import { NO_COUNTS, type OutcomeCounts, countWarnings } from './outcome-counts.js'
import { type OutlineReader, createOutlineReader } from './outline.js'
import type { Anchor } from './window.js'
import { type LogPainter, type LogPlaces, createLogPainter } from './paint.js'

/** The place is noted when nothing has moved for so long, in milliseconds. */
const KEEP_MS = 300

/** What the parts around the lines show. */
export interface LogNews {
  readonly lines: number
  readonly bytes: number
  readonly state: FollowState
  readonly isFollowing: boolean
  readonly newLines: number
  readonly isWrapped: boolean
  readonly isApproximate: boolean
  readonly sections: number
  readonly folded: number
  readonly hits: number
  readonly currentHit: number
  readonly isSearched: boolean
  /** Only lines with a hit are shown. */
  readonly isOnly: boolean
  /** The pattern took too long. */
  readonly isSlow: boolean
  readonly counts: OutcomeCounts
  /** Where hits stand, each between 0 and 1. */
  readonly marks: readonly number[]
  readonly times: number
  /** An output that began anew has other events. */
  readonly generation: number
}

/** An output view at work on a page. */
export interface LogSession {
  readonly model: LogModel
  readonly painter: LogPainter
  /** Times of lines: 0 none, 1 the clock, 2 since the start. */
  readonly times: number
  toggleTimes(): void
  /** Something beside the lines takes more or less of their width. */
  fit(): void
  /** Shows the lines that the address names, as soon as they are there; null: it names none. */
  wish(range: LineRange | null): void
  /** The address names an event, a task or a host, and nobody has found its lines yet. */
  readonly isAsking: boolean
  /** The address of lines inside their page. */
  hashOf(range: LineRange): string
  /** The job has so many bytes of output: reads on when they are more than what is known. */
  expect(bytes: number): void
  press(event: KeyboardEvent): boolean
  /** The text of lines as it is shown, as far as it is in memory. */
  textOf(range: LineRange): string
  dispose(): void
}

/** What people do that is not a part of the model. */
type Actions = Pick<KeyActions, 'find' | 'more' | 'hasLetters'>

/** Starts a view in its places: everything that listens, runs or asks is ended by `dispose`. */
class RunningLog implements LogSession {
  readonly #source: OutputSource
  readonly #actions: Actions
  readonly #onNews: (news: LogNews) => void
  readonly #scroller: HTMLElement
  readonly #sheet: HTMLElement
  readonly hashOf = hashOfLines
  readonly #stopping = new AbortController()
  readonly #signal: AbortSignal
  #size = { height: 0, rowHeight: 18, columns: 80 }
  // Lines of the address that are not there yet.
  #wished = linesOfHash(location.hash)
  isAsking = isNamedPlace(location.hash)
  // Where somebody was in this output before the page was loaded again, or left.
  #kept = keptState()
  // What was looked for then.
  #sought = this.#kept
  #isRestored = this.#kept !== null
  times = this.#kept?.times ?? 0
  #folded: readonly number[] | null | undefined
  #noted = 'null'
  #counts: OutcomeCounts = NO_COUNTS
  #warnings: Promise<unknown> | null = null
  #callOff: (() => void) | null = null
  readonly model: LogModel
  readonly painter: LogPainter
  readonly #clock = { now: () => Date.now(), after: later, random: () => Math.random() }
  readonly #follower: Follower
  readonly #outline: OutlineReader
  readonly #stopGestures: () => void
  readonly #watcher: ResizeObserver
  readonly fit = (): void => {
    this.#size = this.painter.measure()
    this.model.resize(this.#size.height, this.#size.rowHeight, this.#size.columns)
  }
  readonly #click = (event: MouseEvent): void => {
    const target = event.target instanceof Element ? event.target : null
    const line = Number(target?.closest<HTMLElement>('.log-row')?.dataset.line)
    if (!target || !Number.isInteger(line)) return
    if (target.closest('.log-fold')) return this.model.toggleFold(line)
    if (!target.closest('.log-number') || event.ctrlKey || event.metaKey) return
    // The address names the lines; nothing moves, because they are in the window already.
    event.preventDefault()
    event.stopPropagation()
    const first = event.shiftKey ? (this.model.marked?.from ?? line) : line
    const range = { from: Math.min(first, line), to: Math.max(first, line) }
    history.replaceState(history.state, '', hashOfLines(range))
    this.model.stay()
    this.model.mark(range)
  }

  constructor(
    places: LogPlaces,
    source: OutputSource,
    actions: Actions,
    onNews: (news: LogNews) => void,
    isOver: boolean,
  ) {
    this.#folded = this.#kept?.folded ?? (isOver ? null : undefined)
    this.#source = source
    this.#actions = actions
    this.#onNews = onNews
    this.#scroller = places.scroller
    this.#sheet = places.sheet
    this.#signal = this.#stopping.signal
    this.model = createLogModel(this.#source, () => this.painter.soon())
    this.painter = createLogPainter(places, this.model, () => {
      this.#onNews(this.#news())
      this.#keepPlace()
    })
    this.#follower = createFollower(this.#source, this.model.store, this.#clock, () => {
      this.model.mayGrow = this.#follower.state.kind !== 'ended'
      this.model.grown()
      this.#outline.look()
      this.#foldFirst()
      this.#goToWished()
      this.#findAgain()
      if (!this.model.mayGrow) this.#countWarnings()
    })
    this.#outline = createOutlineReader(this.#source, later, (entries, counts) => {
      this.#counts = { ...counts, warnings: this.#counts.warnings }
      this.painter.soon()
      if (entries.length === 0) return
      this.model.setOutline(entries)
      this.#foldFirst()
    })
    this.#stopGestures = listenToGestures(this.#scroller, this.#sheet, this.model, () => this.painter.soon())
    this.#watcher = new ResizeObserver(this.fit)
    this.#sheet.addEventListener('click', this.#click, { signal: this.#signal })
    this.#sheet.addEventListener(
      'copy',
      (event) => {
        const text = this.painter.selectedText()
        if (text === '') return
        event.clipboardData?.setData('text/plain', text)
        event.preventDefault()
      },
      { signal: this.#signal },
    )
    addEventListener(
      'hashchange',
      () => {
        this.#wished = linesOfHash(location.hash)
        this.isAsking = isNamedPlace(location.hash)
        this.#kept = null
        this.#isRestored = false
        this.#goToWished()
      },
      { signal: this.#signal },
    )
    document.addEventListener(
      'visibilitychange',
      () => {
        // A view that nobody sees must not keep a connection open.
        if (document.hidden) this.#follower.stop()
        else if (this.#follower.state.kind !== 'ended') this.#follower.start()
      },
      { signal: this.#signal },
    )
    if (this.#kept ? this.#kept.line !== undefined : this.#wished || this.isAsking) this.model.stay()
    if (this.#kept?.isWrapped) this.model.toggleWrap()
    this.#watcher.observe(this.#scroller)
    // A scrollbar for long lines takes some of its height.
    this.#watcher.observe(this.#sheet)
    this.fit()
    if (!document.hidden) this.#follower.start()
  }

  toggleTimes() {
    this.times = (this.times + 1) % 3
    this.painter.soon()
  }

  wish(range: LineRange | null) {
    this.isAsking = false
    // After a reload the same lines are shown as before.
    if (this.#isRestored) return this.model.mark(range)
    this.#wished = range
    this.#goToWished()
  }

  expect(bytes: number) {
    this.#outline.look()
    if (bytes > this.model.store.bytes && !document.hidden) this.#follower.start()
  }

  press(event: KeyboardEvent) {
    return pressKey(event, this.model, {
      ...this.#actions,
      toggleTimes: () => this.toggleTimes(),
      rowHeight: () => this.#size.rowHeight,
      // One line of the page before stays visible, so that people see where they were.
      pageHeight: () => this.#size.height - this.#size.rowHeight,
    })
  }

  textOf({ from, to }: LineRange) {
    const texts: string[] = []
    for (let line = from; line <= to; line += 1) {
      const text = this.model.lines.text(line)
      if (text !== null) texts.push(text)
    }
    return texts.join('\n')
  }

  dispose() {
    this.#stopping.abort()
    this.#callOff?.()
    this.#stopGestures()
    this.#watcher.disconnect()
    this.#follower.stop()
    this.#outline.stop()
    this.model.stop()
    this.painter.dispose()
  }

  #goToWished(): void {
    if (this.#wished) this.model.mark(this.#wished)
    const { line, sub = 0, pixels = 0 } = this.#kept ?? { line: this.#wished?.from }
    if (this.#kept && line === undefined) this.#kept = this.#wished = null
    if (line === undefined || (line >= this.model.store.lines && this.#follower.state.kind !== 'ended')) return
    this.model.goTo(line, this.#kept ? 0 : 0.2)
    // Not a move of somebody: it neither stops following nor begins it.
    if (this.#kept) this.model.window.moveBy(sub * this.#size.rowHeight + pixels)
    this.#kept = this.#wished = null
  }

  /** What was folded before; or, of a job that had ended already, what nobody needs to read. */
  #foldFirst(): void {
    if (this.#folded !== undefined && this.model.foldFirst(this.#folded)) this.#folded = undefined
  }

  /** Looks again for the word that was looked for before. */
  #findAgain(): void {
    if (this.model.store.lines === 0) return
    const { sought, isOnly = false } = this.#sought ?? {}
    this.#sought = null
    if (!sought || sought.word === '') return
    this.model.find({ ...NOTHING_SOUGHT, ...sought }, false)
    this.model.showOnly(isOnly)
  }

  /** Once, when all of the output is there. */
  #countWarnings(): void {
    this.#warnings ??= countWarnings(this.#source.whole ?? this.#source, this.#signal).then(
      (warnings) => {
        this.#counts = { ...this.#counts, warnings }
        this.painter.soon()
      },
      () => undefined, // The filter is there without its number.
    )
  }

  /** Notes with the page what is shown, once nothing moves: a reload shows the same lines in the same way. */
  #keepPlace(): void {
    if (this.#kept || this.#wished || this.isAsking || this.#sought) return
    const { isFollowing, isWrapped, sought, isOnly, window, folds } = this.model
    const folded = this.#folded === undefined ? folds.foldedIds : this.#folded
    const shown = { folded, isWrapped, sought, isOnly, times: this.times }
    const place: KeptState = isFollowing ? shown : { ...shown, ...window.anchor }
    const text = JSON.stringify(place)
    if (text === this.#noted) return
    this.#noted = text
    this.#callOff?.()
    this.#callOff = later(KEEP_MS, () => history.replaceState({ ...history.state, log: place }, ''))
  }

  #news(): LogNews {
    const { store, hits, folds } = this.model
    return {
      lines: store.lines,
      bytes: store.bytes,
      state: this.#follower.state,
      isFollowing: this.model.isFollowing,
      newLines: this.model.newLines,
      isWrapped: this.model.isWrapped,
      isApproximate: this.model.isApproximate,
      sections: folds.sections.filter(({ kind }) => kind === 'task').length,
      folded: folds.foldedIds.length,
      hits: hits.lines.length,
      currentHit: hits.current,
      isSearched: hits.isComplete,
      isOnly: this.model.isOnly,
      isSlow: this.model.isSlow,
      counts: this.#counts,
      // Among the lines with hits only, they would stand at other places.
      marks: this.model.isOnly ? [] : hits.marks(store.lines),
      times: this.times,
      generation: store.generation,
    }
  }
}

/**
 * Starts a view in its places.
 * @param isOver the job had ended before: of a long output, tasks without failure and change are folded
 */
export function startLog(
  places: LogPlaces,
  source: OutputSource,
  actions: Actions,
  onNews: (news: LogNews) => void,
  isOver: boolean,
): LogSession {
  return new RunningLog(places, source, actions, onNews, isOver)
}

/** What the history of the browser keeps of a view of an output. Without a line it followed the end. */
interface KeptState extends Partial<Anchor> {
  /** Null: what is folded at first is not decided yet. */
  readonly folded?: readonly number[] | null
  readonly isWrapped?: boolean
  readonly sought?: Sought
  readonly isOnly?: boolean
  readonly times?: number
}

/** What the history of the browser has kept of this view; null: it was not open before. */
export function keptState(): KeptState | null {
  const state = history.state as { readonly log?: KeptState | null } | null
  return state?.log ?? null
}

function later(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}
