/** One line of the table that the bench prints. */
export interface Figure {
  readonly what: string
  readonly value: number
  readonly unit: string
  readonly digits: number
  /** The figure to reach and whether lower or higher is better; null: shown only. */
  readonly reach: { readonly value: number; readonly better: 'lower' | 'higher' } | null
  readonly note: string
}

/** A figure that must not be above another one. */
export function atMost(what: string, value: number, unit: string, most: number, note: string): Figure {
  return { what, value, unit, digits: 0, reach: { value: most, better: 'lower' }, note }
}

function isReached(figure: Figure): boolean {
  if (!figure.reach) return true
  return figure.reach.better === 'lower' ? figure.value <= figure.reach.value : figure.value >= figure.reach.value
}

/** The table as text: measured, to reach, and a word on each. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const sign = figure.reach?.better === 'lower' ? '<=' : '>='
    const reach = figure.reach ? `${sign} ${figure.reach.value} ${figure.unit}`.trim() : ''
    const verdict = figure.reach ? (isReached(figure) ? 'reached' : 'MISSED') : ''
    return [figure.what, `${figure.value.toFixed(figure.digits)} ${figure.unit}`.trim(), reach, verdict, figure.note]
  })
  const all = [['what', 'measured', 'to reach', '', 'note'], ...rows]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
