import { type FollowState, type Follower, createFollower } from '../live/follower.js'
import type { OutputSource } from '../live/output-source.js'
import { listenToGestures } from './gestures.js'
import { type KeyActions, pressKey } from './keys.js'
import { type LineRange, hashOfLines, linesOfHash } from './line-link.js'
import { type LogModel, createLogModel } from './log-model.js'
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
  /** Where hits stand, each between 0 and 1. */
  readonly marks: readonly number[]
  readonly marked: LineRange | null
  /** The line at the top, counted from 0. */
  readonly top: number
}

/** An output view at work on a page. */
export interface LogSession {
  readonly model: LogModel
  /** The job has so many bytes of output: reads on when they are more than what is known. */
  expect(bytes: number): void
  press(event: KeyboardEvent): boolean
  /** The text of lines as it is shown, as far as it is in memory. */
  textOf(range: LineRange): string
  dispose(): void
}

/** Starts a view in its places: everything that listens, runs or asks is ended by `dispose`. */
class RunningLog implements LogSession {
  readonly #places: LogPlaces
  readonly #source: OutputSource
  readonly #actions: Pick<KeyActions, 'find' | 'help' | 'hasLetters'>
  readonly #onNews: (news: LogNews) => void
  readonly #scroller: HTMLElement
  readonly #sheet: HTMLElement
  readonly #stopping = new AbortController()
  readonly #signal: AbortSignal
  #size = { height: 0, rowHeight: 18, columns: 80 }
  // Lines of the address that are not there yet.
  #wished = linesOfHash(location.hash)
  // Where somebody was in this output before the page was loaded again, or left.
  #kept = keptPlace()
  #folded: readonly number[] | null | undefined
  #noted = 'null'
  #callOff: (() => void) | null = null
  readonly #model: LogModel
  readonly #painter: LogPainter
  readonly #clock = { now: () => Date.now(), after: later, random: () => Math.random() }
  readonly #follower: Follower
  readonly #outline: OutlineReader
  readonly #stopGestures: () => void
  readonly #watcher: ResizeObserver
  readonly #fit = (): void => {
    this.#size = this.#painter.measure()
    this.#model.resize(this.#size.height, this.#size.rowHeight, this.#size.columns)
  }
  readonly #click = (event: MouseEvent): void => {
    const target = event.target instanceof Element ? event.target : null
    const line = Number(target?.closest<HTMLElement>('.log-row')?.dataset.line)
    if (!target || !Number.isInteger(line)) return
    if (target.closest('.log-fold')) return this.#model.toggleFold(line)
    if (!target.closest('.log-number') || event.ctrlKey || event.metaKey) return
    // The address names the lines; nothing moves, because they are in the window already.
    event.preventDefault()
    event.stopPropagation()
    const first = event.shiftKey ? (this.#model.marked?.from ?? line) : line
    const range = { from: Math.min(first, line), to: Math.max(first, line) }
    history.replaceState(history.state, '', hashOfLines(range))
    this.#model.stay()
    this.#model.mark(range)
  }

  constructor(
    places: LogPlaces,
    source: OutputSource,
    actions: Pick<KeyActions, 'find' | 'help' | 'hasLetters'>,
    onNews: (news: LogNews) => void,
    isOver: boolean,
  ) {
    this.#folded = this.#kept?.folded ?? (isOver ? null : undefined)
    this.#places = places
    this.#source = source
    this.#actions = actions
    this.#onNews = onNews
    this.#scroller = this.#places.scroller
    this.#sheet = this.#places.sheet
    this.#signal = this.#stopping.signal
    this.#model = createLogModel(this.#source, () => this.#painter.soon())
    this.#painter = createLogPainter(this.#places, this.#model, () => {
      this.#onNews(this.#news())
      this.#keepPlace()
    })
    this.#follower = createFollower(this.#source, this.#model.store, this.#clock, () => {
      this.#model.grown()
      this.#outline.look()
      this.#foldFirst()
      this.#goToWished()
    })
    this.#outline = createOutlineReader(this.#source, later, (entries) => {
      this.#model.setOutline(entries)
      this.#foldFirst()
    })
    this.#stopGestures = listenToGestures(this.#scroller, this.#sheet, this.#model, () => this.#painter.soon())
    this.#watcher = new ResizeObserver(this.#fit)
    this.#sheet.addEventListener('click', this.#click, { signal: this.#signal })
    this.#sheet.addEventListener(
      'copy',
      (event) => {
        const text = this.#painter.selectedText()
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
        this.#kept = null
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
    if (this.#wished || this.#kept) this.#model.stay()
    this.#watcher.observe(this.#scroller)
    // A scrollbar for long lines takes some of its height.
    this.#watcher.observe(this.#sheet)
    this.#fit()
    if (!document.hidden) this.#follower.start()
  }

  get model() {
    return this.#model
  }

  expect(bytes: number) {
    this.#outline.look()
    if (bytes > this.#model.store.bytes && !document.hidden) this.#follower.start()
  }

  press(event: KeyboardEvent) {
    return pressKey(event, this.#model, {
      ...this.#actions,
      rowHeight: () => this.#size.rowHeight,
      // One line of the page before stays visible, so that people see where they were.
      pageHeight: () => this.#size.height - this.#size.rowHeight,
    })
  }

  textOf({ from, to }: LineRange) {
    const texts: string[] = []
    for (let line = from; line <= to; line += 1) {
      const text = this.#model.lines.text(line)
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
    this.#model.stop()
    this.#painter.dispose()
  }

  #goToWished(): void {
    if (this.#wished) this.#model.mark(this.#wished)
    const line = this.#kept?.line ?? this.#wished?.from
    if (line === undefined || (line >= this.#model.store.lines && this.#follower.state.kind !== 'ended')) return
    this.#model.goTo(line, this.#kept ? 0 : 0.2)
    if (this.#kept) this.#model.moveBy(this.#kept.pixels)
    this.#kept = this.#wished = null
  }

  /** What was folded before; or, of a job that had ended already, what nobody needs to read. */
  #foldFirst(): void {
    if (this.#folded !== undefined && this.#model.foldFirst(this.#folded)) this.#folded = undefined
  }

  /** Notes the top line and the folds with the page, once nothing moves: a reload shows the same lines again. */
  #keepPlace(): void {
    if (this.#kept || this.#wished) return
    const { isFollowing, window, folds } = this.#model
    const place: KeptPlace | null = isFollowing ? null : { ...window.anchor, folded: folds.foldedIds }
    const text = JSON.stringify(place)
    if (text === this.#noted) return
    this.#noted = text
    this.#callOff?.()
    this.#callOff = later(KEEP_MS, () => history.replaceState({ ...history.state, log: place }, ''))
  }

  #news(): LogNews {
    const { store, hits, folds } = this.#model
    return {
      lines: store.lines,
      bytes: store.bytes,
      state: this.#follower.state,
      isFollowing: this.#model.isFollowing,
      newLines: this.#model.newLines,
      isWrapped: this.#model.isWrapped,
      isApproximate: this.#model.isApproximate,
      sections: folds.sections.length,
      folded: folds.foldedIds.length,
      hits: hits.lines.length,
      currentHit: hits.current,
      isSearched: hits.isComplete,
      marks: hits.marks(store.lines),
      marked: this.#model.marked,
      top: this.#model.window.anchor.line,
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
  actions: Pick<KeyActions, 'find' | 'help' | 'hasLetters'>,
  onNews: (news: LogNews) => void,
  isOver: boolean,
): LogSession {
  return new RunningLog(places, source, actions, onNews, isOver)
}

/** What the history of the browser keeps of an output. */
interface KeptPlace extends Anchor {
  readonly folded: readonly number[]
}

function keptPlace(): KeptPlace | null {
  const state = history.state as { readonly log?: KeptPlace | null } | null
  return state?.log ?? null
}

function later(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}
