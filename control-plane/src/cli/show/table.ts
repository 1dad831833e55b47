import Table from 'cli-table3'
import type { Output } from '../terminal.js'
import { paint, statusPaint } from './paint.js'
import { printable } from './printable.js'

/** A column: its title and what a row shows in it. */
export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => string | number | null
  readonly align?: 'right'
  /** Paints the value by its meaning as a status. */
  readonly status?: boolean
  /** Put in brackets behind the value, where there is any. */
  readonly note?: (row: Row) => string | null
}

/** Longest value of a cell on a terminal; a pipe gets values whole. */
const CELL_LIMIT = 60

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

/** Rows as aligned columns: on a terminal with a thin frame and colours, in a pipe as bare text. */
export function tableText<Row>(output: Output, columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const table = new Table({
    head: columns.map((column) => paint(output, column.title, 'bold')),
    colAligns: columns.map((column) => column.align ?? 'left'),
    // Colours are painted here and only here, so that NO_COLOR holds.
    style: output.isTerminal
      ? { head: [], border: [], compact: true }
      : { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
    ...(output.isTerminal ? {} : { chars: NO_LINES }),
  })
  for (const row of rows) table.push(columns.map((column) => cell(output, column, row)))
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`
}

function cell<Row>(output: Output, column: Column<Row>, row: Row): string {
  const value = column.value(row)
  const text = value === null || value === '' ? '-' : printable(String(value))
  const short = output.isTerminal && text.length > CELL_LIMIT ? `${text.slice(0, CELL_LIMIT - 1)}…` : text
  const note = column.note?.(row) ?? null
  return (column.status ? paint(output, short, statusPaint(short)) : short) + (note === null ? '' : ` (${note})`)
}

/** Name and value, one pair a line, for a single thing. */
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
