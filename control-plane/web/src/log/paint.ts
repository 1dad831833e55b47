import { logWords } from '../words/en-log.js'
import type { Piece } from './ansi.js'
import type { Span } from './find.js'
import type { LogModel } from './log-model.js'
import type { PlacedLine } from './window.js'

/** Where a view of the output is painted. */
export interface LogPlaces {
  /** What is scrolled. */
  readonly scroller: HTMLElement
  /** As high as all rows together, or as high as a browser allows. */
  readonly space: HTMLElement
  /** Always over the visible part of the space. */
  readonly sheet: HTMLElement
}

/** One row element of the pool. */
interface Row {
  readonly element: HTMLDivElement
  readonly number: HTMLAnchorElement
  readonly fold: HTMLButtonElement
  readonly text: HTMLSpanElement
  readonly summary: HTMLSpanElement
  /** What the row shows; it is only written anew when this changes. */
  content: string
}

/** Shows a model of the output in the rows of a page. */
export interface LogPainter {
  /** Adds to each row that is shown what belongs to its line. It is called at each paint, so it has to be quick. */
  decorate: ((row: HTMLElement, line: number) => void) | null
  /** Lets the page show the state of the model, before the next frame. */
  soon(): void
  paint(): void
  /** Height of a row and columns of text, as the browser lays them out. */
  measure(): { readonly height: number; readonly rowHeight: number; readonly columns: number }
  /** The selected text of the lines, without their numbers; empty: nothing is selected. */
  selectedText(): string
  dispose(): void
}

/**
 * Paints a model into a fixed pool of rows. A row keeps its line while it is in the window and is moved by `transform`.
 * Everything from the output becomes a text node. Positions are set by the object model of styles: no markup has any.
 */
class Painter implements LogPainter {
  decorate: LogPainter['decorate'] = null
  readonly #model: LogModel
  readonly #onPainted: () => void
  readonly #scroller: HTMLElement
  readonly #space: HTMLElement
  readonly #sheet: HTMLElement
  readonly #shown = new Map<number, Row>()
  readonly #free: Row[] = []
  #frame: number | null = null
  readonly paint = (): void => {
    this.#frame = null
    const placed = this.#model.visible()
    const wanted = new Set(placed.map(({ line }) => line))
    for (const [line, row] of this.#shown) {
      if (wanted.has(line)) continue
      this.#shown.delete(line)
      row.element.hidden = true
      this.#free.push(row)
    }
    for (const place of placed) this.#paintRow(place)
    this.#space.style.height = `${this.#model.window.space}px`
    const { scrollTop } = this.#model.window
    if (Math.abs(this.#scroller.scrollTop - scrollTop) > 0.5) this.#scroller.scrollTop = scrollTop
    this.#onPainted()
    if (this.#model.isWrapped && placed.some(this.#measureRow)) this.soon()
  }
  /** @returns true when the row takes more or less than was thought */
  readonly #measureRow = ({ line }: PlacedLine): boolean => {
    const row = this.#shown.get(line)
    const found = this.#model.lines.shown(line)
    // Of printable ASCII the rows are known without a look.
    if (!row || !found || found.pieces.every(({ text }) => /^[ -~]*$/.test(text))) return false
    return this.#model.measured(line, Math.max(1, Math.round(row.element.offsetHeight / this.#rowHeightOf())))
  }

  constructor(places: LogPlaces, model: LogModel, onPainted: () => void) {
    this.#model = model
    this.#onPainted = onPainted
    this.#scroller = places.scroller
    this.#space = places.space
    this.#sheet = places.sheet
  }

  soon(): void {
    this.#frame ??= requestAnimationFrame(this.paint)
  }

  measure() {
    const probe = document.createElement('span')
    probe.className = 'log-probe'
    probe.textContent = '0'.repeat(100)
    this.#sheet.append(probe)
    const cell = probe.getBoundingClientRect().width / 100 || 8
    probe.remove()
    const row = this.#createRow()
    const padding = Number.parseFloat(getComputedStyle(row.text).paddingLeft) || 0
    const taken = row.text.getBoundingClientRect().left - row.element.getBoundingClientRect().left + padding
    row.element.remove()
    const columns = Math.max(20, Math.floor((this.#scroller.clientWidth - taken - cell) / cell))
    this.#sheet.style.setProperty('--columns', `${columns}ch`)
    // If the sheet and the scroller had different heights, the sheet would be pushed away at the end of the space.
    this.#sheet.style.height = `${this.#scroller.clientHeight}px`
    return { height: this.#sheet.clientHeight, rowHeight: this.#rowHeightOf(), columns }
  }

  selectedText() {
    const selection = getSelection()
    if (!selection || selection.isCollapsed || selection.rangeCount === 0) return ''
    const range = selection.getRangeAt(0)
    return [...this.#shown]
      .sort(([one], [other]) => one - other)
      .filter(([, { text }]) => range.intersectsNode(text))
      .map(([, { text }]) => partOf(range, text))
      .join('\n')
  }

  dispose() {
    if (this.#frame !== null) cancelAnimationFrame(this.#frame)
    this.#sheet.replaceChildren()
  }

  #paintRow({ line, top }: PlacedLine): void {
    let row = this.#shown.get(line)
    if (!row) {
      row = this.#free.pop() ?? this.#createRow()
      this.#shown.set(line, row)
      row.element.hidden = false
      row.content = ''
    }
    row.element.style.transform = `translateY(${top}px)`
    this.#writeRow(row, line)
    this.decorate?.(row.element, line)
  }

  #writeRow(row: Row, line: number): void {
    const found = this.#model.lines.shown(line)
    const section = this.#model.folds.sectionAt(line)
    const isFolded = section !== null && this.#model.folds.isFolded(section.id)
    const [isCursor, isMarked] = [this.#model.cursor === line && !this.#model.isFollowing, this.#model.isMarked(line)]
    const text = found?.pieces.map((piece) => `${piece.look}\u0000${piece.text}`).join('\u0001') ?? null
    const spans = found ? this.#model.spansOf(found.pieces.map((piece) => piece.text).join('')) : []
    const content = JSON.stringify([
      line,
      text,
      section?.id,
      section?.end,
      isFolded,
      isCursor,
      isMarked,
      spans,
      found?.cutFrom,
    ])
    if (content === row.content) return
    row.content = content
    row.element.className = [
      'log-row',
      isCursor && 'log-cursor',
      isMarked && 'log-marked',
      section && `log-${section.kind}`,
      !found && 'log-missing',
    ]
      .filter(Boolean)
      .join(' ')
    row.element.dataset.line = String(line)
    row.number.textContent = String(line + 1)
    row.number.href = `#L${line + 1}`
    row.fold.hidden = section === null
    row.fold.textContent = isFolded ? '▸' : '▾'
    row.fold.ariaExpanded = String(!isFolded)
    row.fold.ariaLabel = section ? logWords.fold(section.name) : null
    row.text.replaceChildren(...(found ? nodesOf(found.pieces, spans) : []))
    if (found?.isCut) row.text.append(this.#moreButton(line, found.cutFrom))
    const hidden = section && isFolded ? section.end - section.line - 1 : 0
    row.summary.textContent = section && isFolded ? section.summary || logWords.hiddenLines(hidden) : ''
  }

  #createRow(): Row {
    const element = document.createElement('div')
    const number = document.createElement('a')
    const fold = document.createElement('button')
    const text = document.createElement('span')
    const summary = document.createElement('span')
    element.className = 'log-row'
    number.className = 'log-number'
    fold.className = 'log-fold'
    text.className = 'log-text'
    summary.className = 'log-summary'
    fold.type = 'button'
    // The whole output is one stop of the tab key; its keys do what these do.
    for (const part of [number, fold]) part.tabIndex = -1
    number.ariaHidden = 'true'
    element.append(number, fold, text, summary)
    this.#sheet.append(element)
    return { element, number, fold, text, summary, content: '' }
  }

  #moreButton(line: number, bytes: number | null): HTMLButtonElement {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'log-more'
    button.tabIndex = -1
    button.textContent = logWords.showWhole(bytes)
    button.addEventListener('click', () => this.#model.showWhole(line))
    return button
  }

  #rowHeightOf(): number {
    return Number.parseFloat(getComputedStyle(this.#sheet).lineHeight) || 18
  }
}

/** Makes a painter with an empty pool. */
export function createLogPainter(places: LogPlaces, model: LogModel, onPainted: () => void): LogPainter {
  return new Painter(places, model, onPainted)
}

/** The text of an element that lies in a range. */
function partOf(range: Range, element: HTMLElement): string {
  const part = document.createRange()
  part.selectNodeContents(element)
  if (range.compareBoundaryPoints(Range.START_TO_START, part) > 0)
    part.setStart(range.startContainer, range.startOffset)
  if (range.compareBoundaryPoints(Range.END_TO_END, part) < 0) part.setEnd(range.endContainer, range.endOffset)
  return part.toString()
}

/** Text nodes of a line, what was found as marks in them. */
function nodesOf(pieces: readonly Piece[], spans: readonly Span[]): Node[] {
  const nodes: Node[] = []
  let at = 0
  for (const { text, look, link } of pieces) {
    const parts = spans.length === 0 ? [document.createTextNode(text)] : markedNodes(text, at, spans)
    at += text.length
    if (look === '' && link === undefined) nodes.push(...parts)
    else nodes.push(elementOf(parts, look, link))
  }
  return nodes
}

function elementOf(parts: readonly Node[], look: string, link: string | undefined): HTMLElement {
  const element = document.createElement(link === undefined ? 'span' : 'a')
  if (look !== '') element.className = look
  if (element instanceof HTMLAnchorElement && link !== undefined) {
    element.href = link
    element.rel = 'noopener noreferrer'
    element.target = '_blank'
    element.tabIndex = -1
  }
  element.append(...parts)
  return element
}

/** A text that begins at a place of its line, with marks where spans of the line cover it. */
function markedNodes(text: string, begin: number, spans: readonly Span[]): Node[] {
  const nodes: Node[] = []
  let from = 0
  for (const [first, last] of spans) {
    const [start, end] = [Math.max(from, first - begin), Math.min(text.length, last - begin)]
    if (end <= start) continue
    if (start > from) nodes.push(document.createTextNode(text.slice(from, start)))
    const mark = document.createElement('mark')
    mark.textContent = text.slice(start, end)
    nodes.push(mark)
    from = end
  }
  if (from < text.length) nodes.push(document.createTextNode(text.slice(from)))
  return nodes
}
