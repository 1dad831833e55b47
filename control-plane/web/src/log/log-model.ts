import type { OutputSource } from '../live/output-source.js'
import { type Hit, type Hits, createHits, spansOf } from './find.js'
import {
  type Header,
  type OutlineEntry,
  type Section,
  createFolds,
  sectionsOfHeaders,
  sectionsOfOutline,
} from './folds.js'
import type { LineRange } from './line-link.js'
import { type LogLines, createLogLines } from './lines.js'
import type { PatternSearch } from './pattern-search.js'
import { type BlockReader, createBlockReader } from './reader.js'
import { type Search, createSearch } from './search.js'
import { createLogStore } from './store.js'
import { type LogWindow, createLogWindow } from './window.js'
import { type RowSpace, type WrappedRows, createPlainRows, createWrappedRows } from './wrap.js'

/** What somebody looks for. */
export interface Sought {
  /** Empty: nothing. */
  readonly word: string
  readonly matchCase: boolean
  /** The word is a regular expression. */
  readonly isPattern: boolean
}

/** Nobody looks for anything. */
export const NOTHING_SOUGHT: Sought = { word: '', matchCase: false, isPattern: false }

/** A job with more lines than this has its dull tasks folded once it has ended. */
const MANY_LINES = 2_000

/**
 * The state of one output view, without a page: which lines are known, folded, wrapped, found and looked at. Only the
 * functions here change it. `onChange` then lets the page be painted again. Two things always hold. While
 * `isFollowing`, the end is in the window. Otherwise the top line keeps its place, whatever output comes.
 */
export class LogModel {
  /** False: all of the output is known. */
  mayGrow = true
  readonly #source: OutputSource
  readonly #onChange: () => void
  readonly #store = createLogStore()
  readonly #lines: LogLines
  readonly #folds = createFolds()
  readonly #plain: RowSpace
  readonly #wrapped: WrappedRows
  readonly #window: LogWindow
  readonly #reader: BlockReader
  readonly #headers = new Map<number, Header[]>()
  readonly #search: Search
  #patternSearch: PatternSearch | null = null
  #hits = createHits()
  #sought: Sought = NOTHING_SOUGHT
  #goesToHit = true
  #isOnly = false
  #columns = 80
  #isWrapped = false
  #isFollowing = true
  #linesWhenLeft = 0
  #cursor = 0
  #marked: LineRange | null = null
  #outline: readonly OutlineEntry[] | null = null
  #generation = 0
  #known = 0
  #sectionsAt = -1

  constructor(source: OutputSource, onChange: () => void) {
    this.#source = source
    this.#onChange = onChange
    this.#lines = createLogLines(this.#store, () => this.mayGrow)
    this.#plain = createPlainRows(() => this.#store.lines, this.#folds)
    this.#wrapped = createWrappedRows(this.#store, this.#folds, 80)
    this.#window = createLogWindow(this.#plain)
    this.#reader = createBlockReader(this.#source, this.#store, () => this.grown())
    this.#search = createSearch(this.#source, this.#store, (found, isComplete) => this.#found(found, isComplete))
  }

  get store() {
    return this.#store
  }

  get lines() {
    return this.#lines
  }

  get folds() {
    return this.#folds
  }

  get window() {
    return this.#window
  }

  /** Says that lines or their rows changed. */
  grown(): void {
    if (this.#store.generation !== this.#generation) this.#restart()
    if (this.#isWrapped && this.#store.lines !== this.#known) this.#wrapped.grown()
    this.#known = this.#store.lines
    this.#search.grown()
    this.#patternSearch?.grown()
    this.#readSections()
    this.#settle()
  }

  stop() {
    this.#reader.stop()
    this.#search.stop()
    this.#patternSearch?.stop()
  }

  get isFollowing() {
    return this.#isFollowing
  }

  get newLines() {
    return this.#isFollowing ? 0 : Math.max(0, this.#store.lines - this.#linesWhenLeft)
  }

  get isWrapped() {
    return this.#isWrapped
  }

  get hits() {
    return this.#hits
  }

  get cursor() {
    return this.#cursor
  }

  get marked() {
    return this.#marked
  }

  get isApproximate() {
    return this.#outline === null && this.#folds.sections.length > 0
  }

  /** The lines in the window. Blocks that are missing for them are asked for. */
  visible() {
    const first = this.#window.placed()
    if (this.#isWrapped) this.#countShown(first.map(({ line }) => line))
    const placed = this.#isWrapped ? this.#window.placed() : first
    const missing = new Set<number>()
    // Lines that stand side by side are asked for together; a fold between them begins another range.
    for (let at = 0; at < placed.length;) {
      let end = at + 1
      while (placed[end] && placed[end]?.line === (placed[end - 1]?.line ?? 0) + 1) end += 1
      const from = placed[at]?.line ?? 0
      for (const block of this.#store.missing(from, from + end - at)) missing.add(block)
      at = end
    }
    this.#reader.want([...missing].sort((a, b) => a - b))
    return placed
  }

  spansOf(text: string) {
    if (this.#sought.isPattern) return this.#patternSearch?.matcher.spansOf(text) ?? []
    return spansOf(text, this.#sought.word, this.#sought.matchCase)
  }

  isMarked(line: number) {
    return this.#marked !== null && this.#marked.from <= line && line <= this.#marked.to
  }

  resize(height: number, rowHeight: number, nextColumns: number) {
    this.#window.resize(height, rowHeight)
    if (nextColumns !== this.#columns) {
      this.#columns = nextColumns
      if (this.#isWrapped) this.#wrapped.restart(this.#columns)
    }
    this.#settle()
  }

  /** Moves because somebody asked for it. A move up stops following. A move down to the end starts it again. */
  moveBy(pixels: number) {
    this.#window.moveBy(pixels)
    this.#moved(pixels < 0)
  }

  scrollTo(scrollTop: number) {
    const before = this.#window.anchor
    this.#window.scrollTo(scrollTop)
    this.#moved(
      this.#window.anchor.line < before.line ||
        (this.#window.anchor.line === before.line && this.#window.anchor.pixels < before.pixels),
    )
  }

  toStart() {
    return this.goTo(this.#folds.lineAt(0), 0)
  }

  toEnd() {
    this.#isFollowing = true
    this.#cursor = Math.max(0, this.#store.lines - 1)
    this.#settle()
  }

  /** Stops following without a move, because somebody selects text. */
  stay() {
    this.#leaveEnd()
    this.#onChange()
  }

  toggleFollowing() {
    if (this.#isFollowing) this.#leaveEnd()
    else this.#isFollowing = true
    this.#settle()
  }

  goTo(line: number | null, place = 0.4): void {
    if (line === null) return
    this.#leaveEnd()
    this.#cursor = Math.max(0, Math.min(this.#store.lines - 1, line))
    // Somebody goes to a line that the filter hides.
    if (this.#isOnly && this.#folds.isHidden(this.#cursor)) this.showOnly(false)
    if (this.#folds.reveal(this.#cursor) && this.#isWrapped) this.#wrapped.changed()
    this.#window.show(this.#cursor, place)
    this.#onChange()
  }

  /** Marks lines, without a move. */
  mark(range: LineRange | null) {
    this.#marked = range
    this.#onChange()
  }

  moveCursor(by: number) {
    this.#leaveEnd()
    const place = Math.max(0, this.#folds.placeOf(Math.min(this.#cursor, this.#store.lines)) + by)
    this.#cursor = Math.min(Math.max(0, this.#store.lines - 1), this.#folds.lineAt(place))
    this.#window.reveal(this.#cursor)
    this.#onChange()
  }

  /** Goes to the heading of the next (1) or the previous (-1) section. */
  moveSection(by: 1 | -1) {
    const { sections } = this.#folds
    const isShown = ({ line }: Section) => !this.#folds.isHidden(line)
    const found =
      by === 1
        ? sections.find((section) => this.#isSectionAfter(this.#cursor)(section) && isShown(section))
        : sections.findLast((section) => section.line < this.#cursor && isShown(section))
    this.goTo(found?.line ?? null, 0)
  }

  moveHit(by: 1 | -1) {
    this.goTo(by === 1 ? this.#hits.next(this.#cursor) : this.#hits.previous(this.#cursor))
  }

  /**
   * Goes to the next or the previous line that tells of a failure. Of lines that are not in memory only their task is
   * known. The next one of a task that failed is then shown, so that the same key goes on from there.
   */
  moveFailure(by: 1 | -1) {
    const isFailure = (line: number): boolean => {
      if (this.#isOnly && this.#folds.isHidden(line)) return false
      const text = this.#lines.text(line)
      if (text !== null) return /^(fatal|failed): \[|^\[ERROR\]/.test(text)
      const section = this.#folds.sectionOf(line)
      return section?.hasFailed ?? false
    }
    for (let line = this.#cursor + by; line >= 0 && line < this.#store.lines; line += by)
      if (isFailure(line)) return this.goTo(line)
  }

  get sought() {
    return this.#sought
  }

  /** The pattern took too long, so the search has ended. */
  get isSlow() {
    return this.#patternSearch?.matcher.isSlow ?? false
  }

  /** @param goesToHit false: what was found is only marked */
  find(next: Sought, goesToHit = true): void {
    const { word, matchCase, isPattern } = this.#sought
    if (next.word === word && next.matchCase === matchCase && next.isPattern === isPattern) return
    ;[this.#sought, this.#goesToHit] = [next, goesToHit]
    this.#startSearch()
    if (next.word === '') this.showOnly(false)
    this.#onChange()
  }

  /** Only lines with a hit are shown. */
  get isOnly() {
    return this.#isOnly
  }

  showOnly(isOnly: boolean): void {
    if (isOnly === this.#isOnly) return
    this.#isOnly = isOnly
    this.#folds.showOnly(isOnly ? this.#hits.lines : null)
    this.#foldsChanged()
  }

  toggleFold(line: number) {
    const section = this.#folds.sectionAt(line) ?? this.#folds.sectionOf(line)
    if (!section) return
    if (this.#folds.isFolded(section.id)) this.#folds.unfold([section.id])
    else this.#folds.fold([section.id])
    this.#cursor = section.line
    this.#foldsChanged()
  }

  foldAll() {
    this.#leaveEnd()
    this.#folds.fold(this.#folds.sections.filter(({ kind }) => kind === 'task').map(({ id }) => id))
    this.#foldsChanged()
  }

  unfoldAll() {
    this.#folds.unfold(this.#folds.foldedIds)
    this.#foldsChanged()
  }

  /**
   * Folds these sections. @param ids null: what ended without failure and change, when the output is long
   * @returns false when nothing can be folded yet
   */
  foldFirst(ids: readonly number[] | null) {
    if (this.#outline === null || (ids === null && this.#store.lines <= MANY_LINES)) return false
    // A link may have led to a line of such a task.
    const isDull = (one: Section) => one.isDull && !(one.line < this.#cursor && this.#cursor < one.end)
    this.#folds.fold(ids ?? this.#folds.sections.filter(isDull).map(({ id }) => id))
    this.#foldsChanged()
    return true
  }

  /** Replaces the plays and tasks that were read from the text by those that the control plane knows. */
  setOutline(entries: readonly OutlineEntry[]) {
    // Sections that were read from the text have other ids.
    if (this.#outline === null) this.#folds.unfold(this.#folds.foldedIds)
    this.#outline = entries
    this.#sectionsAt = -1
    this.#readSections()
    this.#foldsChanged()
  }

  toggleWrap() {
    this.#isWrapped = !this.#isWrapped
    if (this.#isWrapped) this.#wrapped.restart(this.#columns)
    this.#window.setRows(this.#isWrapped ? this.#wrapped : this.#plain)
    this.#settle()
  }

  /** Tells how many rows a wrapped line really takes. @returns true when that was not known */
  measured(line: number, rows: number) {
    if (!this.#isWrapped || this.#wrapped.rowsOf(line) === rows) return false
    this.#wrapped.measured(line, rows)
    return this.#wrapped.rowsOf(line) === rows
  }

  showWhole(line: number) {
    this.#lines.showWhole(line)
    this.#onChange()
  }

  #restart(): void {
    this.#generation = this.#store.generation
    this.#lines.reset()
    this.#headers.clear()
    this.#folds.unfold(this.#folds.foldedIds)
    this.#folds.setSections([])
    this.#startSearch()
    ;[this.#outline, this.#known, this.#sectionsAt, this.#cursor, this.#linesWhenLeft] = [null, 0, -1, 0, 0]
    if (this.#isWrapped) this.#wrapped.restart(this.#columns)
  }

  #startSearch(): void {
    const { word, matchCase, isPattern } = this.#sought
    this.#hits = createHits()
    if (this.#isOnly) this.#folds.showOnly(this.#hits.lines)
    this.#patternSearch?.stop()
    this.#patternSearch = null
    this.#search.start(isPattern ? '' : word, matchCase)
    if (isPattern && word !== '') void this.#startPattern(this.#hits)
  }

  /** What is needed for patterns is loaded when somebody looks for one. */
  async #startPattern(hits: Hits): Promise<void> {
    const { createPatternSearch } = await import('./pattern-search.js')
    if (hits !== this.#hits) return
    this.#patternSearch = createPatternSearch(
      this.#source,
      this.#store,
      this.#sought,
      (found, isComplete) => hits === this.#hits && this.#found(found, isComplete),
      this.#onChange,
    )
    this.#patternSearch.start('', false)
  }

  #found(found: readonly Hit[], isComplete: boolean): void {
    this.#hits.add(found, isComplete)
    if (this.#isOnly) this.#foldsChanged()
    // The first hit is shown as soon as it is known.
    const next = this.#goesToHit && this.#hits.current === -1 ? this.#hits.next(this.#cursor - 1) : null
    if (next === null) this.#onChange()
    else this.goTo(next)
  }

  #settle(): void {
    if (this.#isFollowing) this.#window.toEnd()
    else this.#window.settle()
    this.#onChange()
  }

  /** From the outline. While there is none, from the text. */
  #readSections(): void {
    if (this.#outline === null) return this.#readHeaders()
    if (this.#sectionsAt === this.#store.lines) return
    this.#sectionsAt = this.#store.lines
    this.#folds.setSections(sectionsOfOutline(this.#outline, this.#store.lines))
    if (this.#isWrapped && this.#folds.foldedIds.length > 0) this.#wrapped.changed()
  }

  /** Headings of the blocks that are known. A block at the end is looked at anew while it grows. */
  #readHeaders(): void {
    let isNew = false
    for (let block = 0; block < this.#store.blocks; block += 1) {
      const isLast = block === this.#store.blocks - 1
      if ((this.#headers.has(block) && !isLast) || !this.#store.hasBlockQuietly(block)) continue
      const found = this.#lines.headersOf(block)
      isNew ||= found.length !== (this.#headers.get(block)?.length ?? 0)
      if (!isLast) this.#headers.set(block, found)
      else if (found.length > 0) this.#headers.set(block, found)
    }
    if (!isNew && this.#sectionsAt === this.#store.lines) return
    this.#sectionsAt = this.#store.lines
    this.#folds.setSections(sectionsOfHeaders([...this.#headers.values()].flat(), this.#store.lines))
    if (this.#isWrapped && this.#folds.foldedIds.length > 0) this.#wrapped.changed()
  }

  #foldsChanged(): void {
    if (this.#isWrapped) this.#wrapped.changed()
    this.#settle()
  }

  #leaveEnd(): void {
    if (this.#isFollowing) this.#linesWhenLeft = this.#store.lines
    this.#isFollowing = false
  }

  #isSectionAfter(line: number) {
    return (section: Section) => section.line > line
  }

  #moved(isUp: boolean): void {
    if (isUp && !this.#window.isAtEnd) this.#leaveEnd()
    else if (this.#window.isAtEnd) this.#isFollowing = true
    this.#onChange()
  }

  /** Counts the rows of the blocks in the window, as far as they are in memory. */
  #countShown(shown: readonly number[]): void {
    let isNew = false
    for (const block of new Set(shown.map((line) => this.#store.blockOf(line)))) {
      const isLast = block >= this.#store.blocks - 1
      if (this.#wrapped.isCounted(block) && !isLast) continue
      const rows = this.#lines.rowsOf(block, this.#columns)
      if (!rows) continue
      this.#wrapped.count(block, rows)
      isNew = true
    }
    if (!isNew) return
    if (this.#isFollowing) this.#window.toEnd()
    else this.#window.settle()
  }
}

/** The state of a view of an output that nobody has read yet. */
export function createLogModel(source: OutputSource, onChange: () => void): LogModel {
  return new LogModel(source, onChange)
}
