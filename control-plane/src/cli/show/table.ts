import Table from 'cli-table3'
import type { Output } from '../terminal.js'
import { paint, statusPaint } from './paint.js'
import { printable } from './printable.js'
import { localTime } from './time.js'

/** A column: its title and what a row shows in it. */
export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => string | number | null
  readonly align?: 'right'
  /** True: the value is a status and gets the colour of that status. */
  readonly status?: boolean
  /** A text in brackets behind the value. Null: none. */
  readonly note?: (row: Row) => string | null
  /** True for sentences and lists: a table breaks them into lines and never cuts them off. */
  readonly isLong?: boolean
  /** True for values that are never cut off or broken, such as times. */
  readonly isWhole?: boolean
}

/** A column of times, as a clock on the wall shows them. They are never cut off or broken. */
export function timeColumn<Row>(title: string, timeOf: (row: Row) => string | null): Column<Row> {
  return { title, value: (row) => localTime(timeOf(row)), isWhole: true }
}

/** Longest value of a cell on a terminal, in characters, except in long columns. A pipe gets complete values. */
const CELL_LIMIT = 60

/** A column is never made narrower than this, in characters. */
const LEAST_WIDTH = 10

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}

/** Rows as {@link tableText} has them; `none` when there is no row. */
export function tableOr<Row>(
  none: string,
  output: Output,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): string {
  return rows.length === 0 ? `${none}\n` : tableText(output, columns, rows)
}

/**
 * Rows as aligned columns. A pipe gets plain text. A terminal gets a thin frame and colours. No line is longer than the
 * terminal is wide. So a wide table loses its frame. If it is still too wide, its wide columns become narrower. If that does
 * not help, each row becomes a block with a line for each value.
 */
export function tableText<Row>(output: Output, columns: readonly Column<Row>[], rows: readonly Row[]): string {
  if (!output.isTerminal) return drawn(output, columns, rows, { isFramed: false })
  const framed = drawn(output, columns, rows, { isFramed: true })
  // The first line is the border. It has one character for each column of the screen.
  const [border = ''] = framed.split('\n')
  if (border.length <= output.columns) return framed
  const natural = border
    .slice(1, -1)
    .split('┬')
    .map((part) => part.length - PADDING)
  const least = natural.map((width, at) => (columns[at]?.isWhole === true ? width : Math.min(width, LEAST_WIDTH)))
  const widths = fitting(natural, least, output.columns - GAP.length * (columns.length - 1))
  return widths === null ? blocksText(output, columns, rows) : drawn(output, columns, rows, { isFramed: false, widths })
}

/** Blanks at both sides of a cell in a frame. */
const PADDING = 2
const GAP = NO_LINES.middle

/** Widths whose sum is not above `most`. The widest columns are made narrower first. Null: it is not possible. */
function fitting(natural: readonly number[], least: readonly number[], most: number): readonly number[] | null {
  const widths = [...natural]
  for (let sum = total(widths); sum > most; sum -= 1) {
    const room = widths.map((width, at) => (width > (least[at] ?? 0) ? width : 0))
    const widest = Math.max(...room)
    if (widest === 0) return null
    widths[room.indexOf(widest)] = widest - 1
  }
  return widths
}

const total = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width, 0)

function drawn<Row>(
  output: Output,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  how: { readonly isFramed: boolean; readonly widths?: readonly number[] },
): string {
  const table = new Table({
    head: columns.map((column) => paint(output, column.title, 'bold')),
    colAligns: columns.map((column) => column.align ?? 'left'),
    // The library must not add colours of its own, because of NO_COLOR.
    style: how.isFramed
      ? { head: [], border: [], compact: true }
      : { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    ...(how.isFramed ? {} : { chars: NO_LINES }),
    ...(how.widths ? { colWidths: [...how.widths] } : {}),
  })
  for (const row of rows) {
    table.push(
      columns.map((column, at) => {
        const content = cell(output, column, row)
        const width = how.widths?.[at]
        // A cell of another column is one line. Its end is cut off when it is too long.
        if (width === undefined || column.isLong !== true) return content
        const hasLongWord = content.split(' ').some((word) => word.length > width)
        return { content, wordWrap: true, wrapOnWordBoundary: !hasLongWord }
      }),
    )
  }
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`
}

/** Each row as a block of names and values, with an empty line between them. What has no value is left out. */
function blocksText<Row>(output: Output, columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const width = Math.max(...columns.map(({ title }) => title.length))
  return rows
    .map((row) =>
      columns
        .map((column) => [column.title, cell(output, { ...column, isLong: true }, row)] as const)
        .filter(([, text]) => text !== EMPTY)
        .map(([title, text]) => `${paint(output, title.padEnd(width), 'bold')}  ${text}\n`)
        .join(''),
    )
    .join('\n')
}

const EMPTY = '-'

function cell<Row>(output: Output, column: Column<Row>, row: Row): string {
  const value = column.value(row)
  const text = value === null || value === '' ? EMPTY : printable(String(value))
  const isCut = output.isTerminal && column.isLong !== true && column.isWhole !== true && text.length > CELL_LIMIT
  const short = isCut ? `${text.slice(0, CELL_LIMIT - 1)}…` : text
  const note = column.note?.(row) ?? null
  return (column.status ? paint(output, short, statusPaint(short)) : short) + (note === null ? '' : ` (${note})`)
}

/** The names and values of one thing, one pair a line. */
export function fieldsText(output: Output, fields: readonly (readonly [string, unknown])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length))
  return fields
    .map(([name, value]) => {
      const text = value === null || value === undefined || value === '' ? '-' : fieldValue(value)
      const painted = name === 'status' || name === 'state' ? paint(output, text, statusPaint(text)) : text
      return `${paint(output, name.padEnd(width), 'bold')}  ${painted}\n`
    })
    .join('')
}

function fieldValue(value: unknown): string {
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
