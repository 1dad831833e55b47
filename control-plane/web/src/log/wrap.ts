import type { Folds } from './folds.js'

/**
 * Sums over parts of a list that changes (a Fenwick tree). Adding and summing take as many steps as the length of the
 * list has binary digits.
 */
export interface FenwickTree {
  readonly length: number
  readonly total: number
  get(at: number): number
  set(at: number, value: number): void
  /** Sum of the values before a place. */
  before(at: number): number
  /** The place in which a sum falls: the last one with `before(place) <= sum` that is not empty. */
  find(sum: number): number
  /** Adds a place at the end. */
  push(value: number): void
}

/** Makes a tree of values, none of them negative. */
function createFenwickTree(values: Iterable<number> = []): FenwickTree {
  const list: number[] = []
  const sums: number[] = [0]
  let total = 0

  function before(at: number): number {
    let sum = 0
    for (let place = Math.min(at, list.length); place > 0; place -= place & -place) sum += sums[place] ?? 0
    return sum
  }

  function push(value: number): void {
    const place = list.push(value)
    sums[place] = value + before(place - 1) - before(place - (place & -place))
    total += value
  }

  for (const value of values) push(value)
  return {
    get length() {
      return list.length
    },
    get total() {
      return total
    },
    get: (at) => list[at] ?? 0,
    before,
    push,
    set(at, value) {
      const change = value - (list[at] ?? 0)
      if (change === 0) return
      list[at] = value
      total += change
      for (let place = at + 1; place <= list.length; place += place & -place) sums[place] = (sums[place] ?? 0) + change
    },
    find(sum) {
      let place = 0
      let rest = sum
      for (let step = 2 ** Math.floor(Math.log2(Math.max(1, list.length))); step >= 1; step /= 2) {
        const next = place + step
        if (next <= list.length && (sums[next] ?? 0) <= rest) {
          place = next
          rest -= sums[next] ?? 0
        }
      }
      return Math.min(place, Math.max(0, list.length - 1))
    },
  }
}

/** The rows of a screen in which lines stand. A row has the height of one line of text. */
export interface RowSpace {
  readonly rows: number
  /** The first row of a line; of a hidden one: of the line that it is folded into. */
  rowOf(line: number): number
  /** The line in a row, and which of its rows that is. */
  at(row: number): { readonly line: number; readonly sub: number }
  /** Rows of a line that is shown. */
  rowsOf(line: number): number
  /** Lines were added, folded or unfolded. */
  changed(): void
}

/** Each shown line has one row. */
export function createPlainRows(lines: () => number, folds: Folds): RowSpace {
  const count = () => Math.max(0, lines() - folds.hiddenBefore(lines()))
  return {
    get rows() {
      return count()
    },
    rowOf: (line) => folds.placeOf(line),
    at: (row) => ({ line: folds.lineAt(Math.max(0, Math.min(count() - 1, row))), sub: 0 }),
    rowsOf: () => 1,
    changed() {},
  }
}

/** What the rows of wrapped lines are made of. Blocks are those of the store. */
export interface WrapSource {
  readonly lines: number
  readonly blocks: number
  readonly bytes: number
  blockOf(line: number): number
  firstLineOf(block: number): number
}

/** Rows of lines that are wrapped: counted where the text is known, estimated before. */
export interface WrappedRows extends RowSpace {
  /** Says how many rows the lines of a block have, from its first line on. */
  count(block: number, rows: Uint16Array): void
  isCounted(block: number): boolean
  /** Forgets what was counted: the width changed. */
  restart(columns: number): void
  /** Lines came at the end; nothing else changed. */
  grown(): void
  /** Says what a shown line really takes. */
  measured(line: number, rows: number): void
}

/** Cells of a line that nobody has seen yet, when a block has too few lines to tell. */
const USUAL_CELLS = 80

/**
 * Rows of wrapped lines, by block. The sums over blocks stand in a tree; inside a block they are summed up when they are
 * needed. What is folded has no rows.
 */
class CountedRows implements WrappedRows {
  readonly #source: WrapSource
  readonly #folds: Folds
  readonly #columnsAtFirst: number
  #columns: number
  #tree = createFenwickTree()
  readonly #counted = new Map<number, Uint16Array>()

  constructor(source: WrapSource, folds: Folds, columnsAtFirst: number) {
    this.#source = source
    this.#folds = folds
    this.#columnsAtFirst = columnsAtFirst
    this.#columns = Math.max(1, this.#columnsAtFirst)
    this.changed()
  }

  get rows() {
    return this.#tree.total
  }

  changed(): void {
    const values: number[] = []
    for (let block = 0; block < this.#source.blocks; block += 1) values.push(this.#rowsOfBlock(block))
    this.#tree = createFenwickTree(values)
  }

  isCounted(block: number) {
    return this.#counted.has(block)
  }

  grown() {
    if (this.#source.blocks < this.#tree.length) return this.changed()
    if (this.#tree.length > 0) this.#tree.set(this.#tree.length - 1, this.#rowsOfBlock(this.#tree.length - 1))
    while (this.#tree.length < this.#source.blocks) this.#tree.push(this.#rowsOfBlock(this.#tree.length))
  }

  restart(next: number) {
    this.#columns = Math.max(1, next)
    this.#counted.clear()
    this.changed()
  }

  count(block: number, rows: Uint16Array<ArrayBufferLike>) {
    this.#counted.set(block, rows)
    if (block >= this.#tree.length) this.changed()
    else this.#tree.set(block, this.#rowsOfBlock(block))
  }

  measured(line: number, rows: number) {
    const block = this.#source.blockOf(line)
    const known = this.#counted.get(block)
    const [first] = this.#linesOf(block)
    if (!known || known[line - first] === rows || line - first >= known.length) return
    known[line - first] = rows
    this.#tree.set(block, this.#rowsOfBlock(block))
  }

  rowOf(line: number) {
    const shown = this.#folds.isHidden(line) ? this.#folds.lineAt(this.#folds.placeOf(line)) : line
    const block = this.#source.blockOf(shown)
    return this.#tree.before(block) + this.#rowsBetween(block, this.#linesOf(block)[0], shown)
  }

  rowsOf(line: number) {
    const block = this.#source.blockOf(line)
    return this.#counted.get(block)?.[line - this.#linesOf(block)[0]] ?? this.#usualRows(block)
  }

  at(row: number) {
    const wanted = Math.max(0, Math.min(this.#tree.total - 1, Math.floor(row)))
    const block = this.#tree.find(wanted)
    let rest = wanted - this.#tree.before(block)
    const [first, end] = this.#linesOf(block)
    const known = this.#counted.get(block)
    if (!known) {
      const usual = this.#usualRows(block)
      const line = this.#folds.lineAt(first - this.#folds.hiddenBefore(first) + Math.floor(rest / usual))
      return { line: Math.min(line, Math.max(0, end - 1)), sub: rest % usual }
    }
    for (let line = first; line < end; line += 1) {
      if (this.#folds.isHidden(line)) continue
      const rows = known[line - first] ?? 1
      if (rest < rows) return { line, sub: rest }
      rest -= rows
    }
    return { line: Math.max(0, end - 1), sub: 0 }
  }

  #linesOf(block: number) {
    return [
      Math.min(this.#source.firstLineOf(block), this.#source.lines),
      block + 1 >= this.#source.blocks
        ? this.#source.lines
        : Math.min(this.#source.firstLineOf(block + 1), this.#source.lines),
    ] as const
  }

  /** Rows of a line that was not counted, from the average of its block. */
  #usualRows(block: number): number {
    const [first, end] = this.#linesOf(block)
    const bytes = Math.min(65_536, this.#source.bytes - block * 65_536)
    const cells = end > first ? bytes / (end - first) : USUAL_CELLS
    return Math.max(1, Math.round(cells / this.#columns))
  }

  #rowsBetween(block: number, from: number, to: number): number {
    const known = this.#counted.get(block)
    const [first] = this.#linesOf(block)
    const shown = to - from - (this.#folds.hiddenBefore(to) - this.#folds.hiddenBefore(from))
    if (!known || shown === 0) return shown * this.#usualRows(block)
    let rows = 0
    for (let line = from; line < to; line += 1) if (!this.#folds.isHidden(line)) rows += known[line - first] ?? 1
    return rows
  }

  #rowsOfBlock(block: number) {
    return this.#rowsBetween(block, ...this.#linesOf(block))
  }
}

/** Rows of lines of which none is counted yet. */
export function createWrappedRows(source: WrapSource, folds: Folds, columnsAtFirst: number): WrappedRows {
  return new CountedRows(source, folds, columnsAtFirst)
}

// Characters of two cells: East Asian scripts, emoji. What looks otherwise is measured when it is shown.
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u

/** Rows of a text in a column of monospace characters, and whether that has to be measured when it is shown. */
export function rowsOfText(text: string, columns: number): { readonly rows: number; readonly isSure: boolean } {
  // Printable ASCII: one cell each.
  if (/^[ -~]*$/.test(text)) return { rows: Math.max(1, Math.ceil(text.length / columns)), isSure: true }
  let cells = 0
  for (const character of text) cells += character === '\t' ? 8 - (cells % 8) : WIDE.test(character) ? 2 : 1
  return { rows: Math.max(1, Math.ceil(cells / columns)), isSure: false }
}
