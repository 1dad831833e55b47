import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFolds, headerOf, sectionsOfHeaders, type Section } from '../../../control-plane/web/src/log/folds.js'
import { createHits, spansOf } from '../../../control-plane/web/src/log/find.js'
import { createLogWindow, MAX_SPACE } from '../../../control-plane/web/src/log/window.js'
import { createPlainRows, createWrappedRows } from '../../../control-plane/web/src/log/wrap.js'

/** Plays and tasks in lines, in order. */
const outlines = fc
  .array(fc.record({ isPlay: fc.boolean(), lines: fc.integer({ min: 1, max: 20 }) }), { minLength: 1, maxLength: 30 })
  .map((parts) => {
    let line = 2
    const headers = parts.map(({ isPlay, lines }) => {
      const header = { line, kind: isPlay ? ('play' as const) : ('task' as const), name: '' }
      line += lines
      return header
    })
    return { sections: sectionsOfHeaders(headers, line + 3), lines: line + 3 }
  })

function isHiddenIn(line: number, sections: readonly Section[], folded: ReadonlySet<number>): boolean {
  return sections.some((section) => folded.has(section.id) && section.line < line && line < section.end)
}

test('folded lines have no place, and place and line lead to each other', () => {
  fc.assert(
    fc.property(outlines, fc.array(fc.nat(), { maxLength: 12 }), ({ sections, lines }, draws) => {
      const folds = createFolds()
      folds.setSections(sections)
      const folded = new Set<number>()
      for (const draw of draws) {
        const id = sections[draw % sections.length]?.id ?? 0
        if (folded.has(id)) folded.delete(id)
        else folded.add(id)
        if (folded.has(id)) folds.fold([id])
        else folds.unfold([id])
        const visible = [...Array(lines).keys()].filter((line) => !isHiddenIn(line, sections, folded))
        expect(visible.map((line) => folds.placeOf(line))).toEqual([...visible.keys()])
        expect([...visible.keys()].map((place) => folds.lineAt(place))).toEqual(visible)
        for (let line = 0; line < lines; line += 1) {
          expect(folds.isHidden(line)).toBe(!visible.includes(line))
          if (folds.isHidden(line))
            expect(folds.lineAt(folds.placeOf(line))).toBe(visible.findLast((other) => other < line))
        }
      }
      const line = (draws[0] ?? 0) % lines
      folds.reveal(line)
      expect(folds.isHidden(line)).toBe(false)
    }),
    { seed: 31, numRuns: 30 },
  )
})

test('a filter shows its lines and no other, whatever is folded, and their places lead to each other', () => {
  fc.assert(
    fc.property(outlines, fc.uniqueArray(fc.nat({ max: 400 })), ({ sections, lines }, draws) => {
      const folds = createFolds()
      folds.setSections(sections)
      folds.fold(sections.map(({ id }) => id))
      const only = draws.filter((line) => line < lines).toSorted((one, other) => one - other)
      folds.showOnly(only)
      const rows = createPlainRows(() => lines, folds)
      expect(rows.rows).toBe(only.length)
      expect(only.map((line) => rows.rowOf(line))).toEqual([...only.keys()])
      expect([...only.keys()].map((row) => rows.at(row).line)).toEqual(only)
      for (let line = 0; line < lines; line += 1) {
        expect(folds.isHidden(line)).toBe(!only.includes(line))
        expect(folds.hiddenBefore(line)).toBe(line - only.filter((other) => other < line).length)
      }
      folds.showOnly(null)
      expect(folds.foldedIds.length).toBe(sections.length)
      expect(sections.every(({ line }) => !folds.isHidden(line) || folds.sectionOf(line) !== null)).toBe(true)
    }),
    { seed: 37, numRuns: 30 },
  )
})

test('headings are found in the text, and nothing else is one', () => {
  expect(headerOf(3, 'TASK [web : Install] ********')).toEqual({ line: 3, kind: 'task', name: 'web : Install' })
  expect(headerOf(3, 'PLAY [all] ****')?.kind).toBe('play')
  expect(headerOf(3, 'RUNNING HANDLER [restart] ***')?.kind).toBe('task')
  expect(headerOf(3, '  TASK [x] ***')).toBeNull()
  expect(headerOf(3, 'ok: [TASK [x] ***]')).toBeNull()
})

/** A log of blocks of the same number of lines, each line with its rows. */
function wrapFixture(rowsOfLines: number[], linesOfBlock: number) {
  const source = {
    get lines() {
      return rowsOfLines.length
    },
    get blocks() {
      return Math.ceil(rowsOfLines.length / linesOfBlock)
    },
    get bytes() {
      return rowsOfLines.length * 80
    },
    blockOf: (line: number) => Math.floor(line / linesOfBlock),
    firstLineOf: (block: number) => block * linesOfBlock,
  }
  const countAll = (rows: ReturnType<typeof createWrappedRows>) => {
    for (let block = 0; block < source.blocks; block += 1) {
      rows.count(block, Uint16Array.from(rowsOfLines.slice(block * linesOfBlock, (block + 1) * linesOfBlock)))
    }
  }
  return { source, countAll }
}

test('wrapped and folded lines have their rows, and row and line lead to each other', () => {
  fc.assert(
    fc.property(
      outlines,
      fc.array(fc.nat(), { maxLength: 6 }),
      fc.integer({ min: 1, max: 9 }),
      ({ sections, lines }, draws, size) => {
        const rowsOfLines = [...Array(lines).keys()].map((line) => 1 + ((line * 7) % 4))
        const folds = createFolds()
        folds.setSections(sections)
        folds.fold(draws.map((draw) => sections[draw % sections.length]?.id ?? 0))
        const { source, countAll } = wrapFixture(rowsOfLines, size)
        const rows = createWrappedRows(source, folds, 100)
        countAll(rows)
        const expected: [number, number][] = []
        for (const [line, count] of rowsOfLines.entries()) {
          if (!folds.isHidden(line)) for (let sub = 0; sub < count; sub += 1) expected.push([line, sub])
        }
        expect(rows.rows).toBe(expected.length)
        for (const [row, [line, sub]] of expected.entries()) {
          expect(rows.at(row)).toEqual({ line, sub })
          if (sub === 0) expect(rows.rowOf(line)).toBe(row)
        }
      },
    ),
    { seed: 33, numRuns: 40 },
  )
})

test.each([
  ['that fits into the space', 20_000],
  ['that is higher than the space', 2_000_000],
])('the top line stands still while an output %s grows, and the scrollbar leads back to it', (_name, start) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat({ max: 1_000_000 }), fc.nat({ max: 5_000 })), { maxLength: 40 }), (moves) => {
      let lines = start
      const folds = createFolds()
      const window = createLogWindow(createPlainRows(() => lines, folds))
      window.resize(700, 18)
      for (const [draw, more] of moves) {
        window.scrollTo(((window.space - 700) * draw) / 1_000_000)
        const { anchor } = window
        lines += more
        window.settle()
        expect(window.anchor).toEqual(anchor)
        expect(window.placed()[0]).toEqual({ line: anchor.line, top: -anchor.pixels, rows: 1 })
        expect(window.space).toBeLessThanOrEqual(MAX_SPACE)
        window.scrollTo(window.scrollTop)
        expect(Math.abs((window.anchor.line - anchor.line) * 18 + window.anchor.pixels - anchor.pixels)).toBeLessThan(
          0.01,
        )
        window.moveBy(120)
        window.moveBy(-120)
        if (!window.isAtEnd) expect(Math.abs(window.anchor.line - anchor.line)).toBeLessThanOrEqual(7)
      }
      window.toEnd()
      expect(window.placed().at(-1)?.line).toBe(lines - 1)
      expect(window.isAtEnd).toBe(true)
      expect(Math.round(window.scrollTop)).toBe(Math.round(window.space - 700))
    }),
    { seed: 34, numRuns: 60 },
  )
})

test('the top line stands still when the rows of lines above become known, and when lines above are folded', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 200, maxLength: 400 }),
      fc.nat(),
      (rowsOfLines, draw) => {
        const folds = createFolds()
        const { source, countAll } = wrapFixture(rowsOfLines, 25)
        const rows = createWrappedRows(source, folds, 100)
        const window = createLogWindow(rows)
        window.resize(200, 10)
        const line = draw % (rowsOfLines.length - 60)
        window.show(line, 0)
        const { anchor } = window
        countAll(rows)
        window.settle()
        expect(window.anchor).toEqual(anchor)
        if (line > 10) {
          folds.setSections([
            { id: 1, kind: 'task', line: 2, end: 8, name: '', summary: '', isDull: true, hasFailed: false },
          ])
          folds.fold([1])
          rows.changed()
          window.settle()
          expect(window.anchor).toEqual(anchor)
        }
      },
    ),
    { seed: 35, numRuns: 100 },
  )
})

test('hits are gone through in order, around the ends, whenever they were found', () => {
  const hits = createHits()
  expect(hits.next(0)).toBeNull()
  hits.add(
    [
      [40, 0],
      [50, 0],
    ],
    false,
  )
  hits.add(
    [
      [10, 0],
      [40, 0],
    ],
    true,
  )
  expect(hits.lines).toEqual([10, 40, 50])
  expect([hits.next(10), hits.next(40), hits.next(50), hits.previous(10), hits.previous(50)]).toEqual([
    40, 50, 10, 50, 40,
  ])
  expect(spansOf('Ünder ünder', 'ünder', false)).toEqual([
    [0, 5],
    [6, 11],
  ])
  expect(spansOf('a.c abc', 'a.c', true)).toEqual([[0, 3]])
  expect(spansOf('İx x', 'X', false)).toEqual([
    [1, 2],
    [3, 4],
  ])
})
