import type { RowSpace } from './wrap.js'

/**
 * The largest height of the scrolled space, in pixels. Firefox gives no height at all to an element of 17.9 million
 * pixels or more, and holds nothing in sight (`position: sticky`) beyond 8.9 million. So in longer outputs the places are
 * scaled down.
 */
export const MAX_SPACE = 8_000_000

/** What stands at the top of the window. A line, never a pixel: lines keep their place while the output grows. */
export interface Anchor {
  readonly line: number
  /** Which row of the line, when it is wrapped. */
  readonly sub: number
  /** Pixels of that row above the top. */
  readonly pixels: number
}

/** A line of the window. */
export interface PlacedLine {
  readonly line: number
  /** Pixels from the top of the window; negative: its beginning is above. */
  readonly top: number
  readonly rows: number
}

/** A window over rows: which lines are in it, and where the scrollbar stands. */
export interface LogWindow {
  readonly anchor: Anchor
  /** Height of the space for the scrollbar, in pixels. */
  readonly space: number
  /** Where the scrollbar has to stand for the anchor. */
  readonly scrollTop: number
  readonly isAtEnd: boolean
  /** Number of rows that fit, the partial one included. */
  readonly fitting: number
  resize(height: number, rowHeight: number): void
  /** Another way to lay out lines, wrapped or not. The top line stays. */
  setRows(rows: RowSpace): void
  /** Moves by pixels as they are on the screen. */
  moveBy(pixels: number): void
  /** Goes where somebody pulled the scrollbar to. */
  scrollTo(scrollTop: number): void
  /** Brings a line to a place: 0 is the top, 0.5 the middle. */
  show(line: number, place: number): void
  /** The same as `show` when the line is not in the window as a whole; else nothing moves. */
  reveal(line: number): void
  toEnd(): void
  /** Rows changed: the anchor stays where it is, unless it is past the end or folded away. */
  settle(): void
  /** The lines in the window, from top to bottom. */
  placed(): PlacedLine[]
}

/** Makes a window at the first line. */
class Window implements LogWindow {
  #rows: RowSpace
  #height = 0
  #rowHeight = 1
  #anchor: Anchor = { line: 0, sub: 0, pixels: 0 }

  constructor(rowsAtFirst: RowSpace) {
    this.#rows = rowsAtFirst
  }

  get anchor() {
    return this.#anchor
  }

  get space() {
    return this.#space()
  }

  get scrollTop() {
    if (this.#whole() <= MAX_SPACE) return this.#place()
    return this.#most() === 0 ? 0 : (this.#place() / this.#most()) * (this.#space() - this.#height)
  }

  get isAtEnd() {
    // Half a row before the end counts as the end, because the place of the scrollbar is not exact in every browser.
    return this.#place() >= this.#most() - this.#rowHeight / 2
  }

  get fitting() {
    return Math.ceil(this.#height / this.#rowHeight) + 1
  }

  resize(nextHeight: number, nextRowHeight: number) {
    const wasAt = this.#anchor.pixels / this.#rowHeight
    ;[this.#height, this.#rowHeight] = [nextHeight, Math.max(1, nextRowHeight)]
    this.#anchor = { ...this.#anchor, pixels: wasAt * this.#rowHeight }
    this.settle()
  }

  setRows(next: RowSpace) {
    this.#rows = next
    this.#anchor = { line: this.#anchor.line, sub: 0, pixels: 0 }
    this.settle()
  }

  moveBy(pixels: number) {
    return this.#goTo(this.#place() + pixels)
  }

  scrollTo(scrollTop: number) {
    if (this.#whole() <= MAX_SPACE) this.#goTo(scrollTop)
    else this.#goTo((scrollTop / Math.max(1, this.#space() - this.#height)) * this.#most())
  }

  show(line: number, part: number): void {
    this.#goTo(
      this.#rows.rowOf(line) * this.#rowHeight -
        Math.floor((Math.max(0, this.#height - this.#rowHeight) * part) / this.#rowHeight) * this.#rowHeight,
    )
  }

  reveal(line: number) {
    const top = this.#rows.rowOf(line) * this.#rowHeight - this.#place()
    if (top < 0) this.show(line, 0)
    else if (top + this.#rowHeight > this.#height)
      this.#goTo(this.#rows.rowOf(line) * this.#rowHeight + this.#rowHeight - this.#height)
  }

  toEnd() {
    return this.#goTo(this.#most())
  }

  settle(): void {
    const row = this.#rows.rowOf(this.#anchor.line)
    const { line } = this.#rows.at(row)
    // A line that is folded away gives its place to the one that it is folded into.
    if (line !== this.#anchor.line) this.#anchor = { line, sub: 0, pixels: 0 }
    const sub = Math.min(this.#anchor.sub, Math.max(0, this.#rows.rowsOf(this.#anchor.line) - 1))
    if (sub !== this.#anchor.sub) this.#anchor = { ...this.#anchor, sub }
    if (this.#place() > this.#most()) this.#goTo(this.#most())
  }

  placed() {
    const found: PlacedLine[] = []
    let row = this.#rows.rowOf(this.#anchor.line)
    let top = -(this.#anchor.sub * this.#rowHeight + this.#anchor.pixels)
    while (top < this.#height && row < this.#rows.rows) {
      const { line } = this.#rows.at(row)
      const taken = this.#rows.rowsOf(line)
      found.push({ line, top, rows: taken })
      top += taken * this.#rowHeight
      row += taken
    }
    return found
  }

  #whole() {
    return this.#rows.rows * this.#rowHeight
  }

  #most() {
    return Math.max(0, this.#whole() - this.#height)
  }

  #place() {
    return (this.#rows.rowOf(this.#anchor.line) + this.#anchor.sub) * this.#rowHeight + this.#anchor.pixels
  }

  #space() {
    return Math.min(this.#whole(), MAX_SPACE)
  }

  #goTo(pixels: number): void {
    const wanted = Math.max(0, Math.min(this.#most(), pixels))
    const row = Math.min(Math.floor(wanted / this.#rowHeight), Math.max(0, this.#rows.rows - 1))
    this.#anchor = { ...this.#rows.at(row), pixels: wanted - row * this.#rowHeight }
  }
}

/** Makes a window that shows the first line. */
export function createLogWindow(rowsAtFirst: RowSpace): LogWindow {
  return new Window(rowsAtFirst)
}
