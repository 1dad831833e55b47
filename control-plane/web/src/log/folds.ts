import { countBefore } from '../live/halves.js'

/** A part of an output that can be folded: a play with its tasks, or a task with what it printed. */
export interface Section {
  readonly id: number
  readonly kind: 'play' | 'task'
  /** Its first line, which stays when it is folded. */
  readonly line: number
  /** The line after its last one. The section that is still being printed goes on to the end. */
  readonly end: number
  readonly name: string
  /** The text after the first line of a folded section; empty: nothing is known. */
  readonly summary: string
  /** True when it ended and nothing in it failed or changed anything. */
  readonly isDull: boolean
  readonly hasFailed: boolean
}

/**
 * Which lines are shown. Hidden lines are kept as ranges in order, each with the number of lines that are hidden before
 * it: from line to row and back is a binary search, however long the output is.
 */
export interface Folds {
  readonly sections: readonly Section[]
  /** Changes the sections and keeps what is folded. */
  setSections(sections: readonly Section[]): void
  isFolded(id: number): boolean
  fold(ids: Iterable<number>): void
  unfold(ids: Iterable<number>): void
  /** Unfolds whatever hides a line. @returns true when something did */
  reveal(line: number): boolean
  isHidden(line: number): boolean
  /** Hidden lines before a line. */
  hiddenBefore(line: number): number
  /** Place of a line among those that are shown. A hidden one has the place of the line that it is folded into. */
  placeOf(line: number): number
  /** The line at a place among those that are shown. */
  lineAt(place: number): number
  /** The section that begins at a line. */
  sectionAt(line: number): Section | null
  /** The innermost section in which a line stands. */
  sectionOf(line: number): Section | null
  readonly foldedIds: readonly number[]
  /** Shows only these lines, whatever is folded. They are in order, and more may come. Null: the folds count again. */
  showOnly(lines: readonly number[] | null): void
  readonly isFiltered: boolean
}

/** Sections without any that is folded. */
class FoldedLines implements Folds {
  #sections: readonly Section[] = []
  #byLine = new Map<number, Section>()
  readonly #folded = new Set<number>()
  // Hidden ranges: first line, line after the last one, hidden lines before.
  #from: number[] = []
  #to: number[] = []
  #before: number[] = []
  // The only lines that are shown.
  #only: readonly number[] | null = null
  hiddenBefore(line: number): number {
    if (this.#only) return line - this.#onlyBefore(line)
    const range = this.#rangesUpTo(line) - 1
    if (range < 0) return 0
    return (this.#before[range] ?? 0) + Math.min(line, this.#to[range] ?? 0) - (this.#from[range] ?? 0)
  }
  isHidden(line: number): boolean {
    if (this.#only) return this.#only[this.#onlyBefore(line)] !== line
    const range = this.#rangesUpTo(line) - 1
    return range >= 0 && line < (this.#to[range] ?? 0)
  }
  placeOf(line: number): number {
    const place = line - this.hiddenBefore(line)
    return this.isHidden(line) ? Math.max(0, place - 1) : place
  }
  showOnly(lines: readonly number[] | null): void {
    this.#only = lines
  }

  get isFiltered() {
    return this.#only !== null
  }

  get sections() {
    return this.#sections
  }

  get foldedIds() {
    return [...this.#folded]
  }

  setSections(next: readonly Section[]) {
    this.#sections = next.toSorted((a, b) => a.line - b.line || b.end - a.end)
    this.#byLine = new Map(this.#sections.map((section) => [section.line, section]))
    this.#rebuild()
  }

  isFolded(id: number) {
    return this.#folded.has(id)
  }

  fold(ids: Iterable<number>) {
    for (const id of ids) this.#folded.add(id)
    this.#rebuild()
  }

  unfold(ids: Iterable<number>) {
    for (const id of ids) this.#folded.delete(id)
    this.#rebuild()
  }

  reveal(line: number) {
    if (this.#only || !this.isHidden(line)) return false
    for (const { id, line: first, end } of this.#sections) if (first < line && line < end) this.#folded.delete(id)
    this.#rebuild()
    return true
  }

  lineAt(place: number) {
    if (this.#only) return this.#only[Math.min(place, this.#only.length - 1)] ?? 0
    // The number of ranges before the place: those of which the first hidden line has a smaller or equal place.
    const isAfter = (range: number) => (this.#from[range] ?? 0) - (this.#before[range] ?? 0) > place
    const range = countBefore(this.#from.length, isAfter) - 1
    if (range < 0) return place
    return place + (this.#before[range] ?? 0) + (this.#to[range] ?? 0) - (this.#from[range] ?? 0)
  }

  sectionAt(line: number) {
    return this.#byLine.get(line) ?? null
  }

  sectionOf(line: number) {
    let found: Section | null = null
    const count = countBefore(this.#sections.length, (at) => (this.#sections[at]?.line ?? 0) > line)
    for (let at = count - 1; at >= 0 && !found; at -= 1) {
      const section = this.#sections[at]
      if (section && line < section.end) found = section
    }
    return found
  }

  #rebuild(): void {
    this.#from = []
    this.#to = []
    this.#before = []
    let hidden = 0
    for (const section of this.#sections) {
      if (!this.#folded.has(section.id)) continue
      const last = this.#to.length - 1
      const end = this.#to[last] ?? 0
      // Sections are in the order of their first lines. So when the first line of a section is hidden, the section is
      // inside the range before.
      if (section.line < end) {
        this.#to[last] = Math.max(end, section.end)
        hidden += Math.max(0, section.end - end)
        continue
      }
      const start = section.line + 1
      if (start >= section.end) continue
      this.#from.push(start)
      this.#to.push(section.end)
      this.#before.push(hidden)
      hidden += section.end - start
    }
  }

  #onlyBefore(line: number): number {
    const only = this.#only ?? []
    return countBefore(only.length, (at) => (only[at] ?? 0) >= line)
  }

  /** Number of ranges that begin at or before a line. */
  #rangesUpTo(line: number): number {
    return countBefore(this.#from.length, (range) => (this.#from[range] ?? 0) > line)
  }
}

/** Makes folds without any section. */
export function createFolds(): Folds {
  return new FoldedLines()
}

const HEADER = /^(PLAY|TASK|RUNNING HANDLER|HANDLER) \[(.*)\] \**\s*$/

/** A line that begins a play or a task. */
export interface Header {
  readonly line: number
  readonly kind: 'play' | 'task'
  readonly name: string
}

/** Reads a line as the heading of a play or a task; null: it is none, as far as the text tells. */
export function headerOf(line: number, text: string): Header | null {
  const found = HEADER.exec(text)
  if (!found) return text.startsWith('PLAY RECAP *') ? { line, kind: 'play', name: '' } : null
  return { line, kind: found[1] === 'PLAY' ? 'play' : 'task', name: found[2] ?? '' }
}

/** A play or task as the control plane knows it. */
export interface OutlineEntry extends Omit<Section, 'end'> {
  /** This line ends the play or task before it. It does not begin one itself. */
  readonly isRecap?: boolean
}

/** Sections of plays and tasks as the control plane knows them. @param lines lines that there are by now */
export function sectionsOfOutline(entries: readonly OutlineEntry[], lines: number): Section[] {
  let [nextPlay, next] = [lines, lines]
  const sections: Section[] = []
  for (const { isRecap = false, ...entry } of entries.toSorted((a, b) => b.line - a.line || b.id - a.id)) {
    const end = entry.kind === 'play' ? nextPlay : next
    // The empty line before a heading belongs to no section. With the strategy `free`, a task may have printed nothing
    // at all.
    if (!isRecap && entry.line < end) sections.push({ ...entry, end })
    next = entry.line - 1
    if (isRecap || entry.kind === 'play') nextPlay = entry.line - 1
  }
  return sections.reverse()
}

/** Sections of headings that were read from the text: approximate, because a task can print such a line itself. */
export function sectionsOfHeaders(headers: readonly Header[], lines: number): Section[] {
  const ordered = headers.toSorted((a, b) => a.line - b.line)
  let nextPlay = lines
  let next = lines
  const sections: Section[] = []
  for (const { line, kind, name } of ordered.toReversed()) {
    const end = kind === 'play' ? nextPlay : next
    sections.push({ id: line, kind, line, end, name, summary: '', isDull: false, hasFailed: false })
    next = line
    if (kind === 'play') nextPlay = line
  }
  return sections.reverse()
}
