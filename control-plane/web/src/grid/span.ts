/** A range of items of the same size: the first one, and the one after the last. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The items that are visible. @param size of each, in pixels. @param place of the window from the start, in pixels */
export function spanInSight(count: number, size: number, place: number, window: number): Span {
  const from = Math.min(count, Math.max(0, Math.floor(place / size)))
  return { from, to: Math.min(count, Math.ceil((place + window) / size) + 1) }
}

/**
 * Where the window has to begin so that an item is visible. When it is visible already, the window stays where it is.
 */
export function placeToSee(index: number, size: number, place: number, window: number): number {
  const start = index * size
  if (start < place) return start
  return start + size > place + window ? start + size - window : place
}

/** A cell by the numbers of its row and its column. */
export interface Cell {
  readonly row: number
  readonly column: number
}

/**
 * The cell to which a key leads; null: the key leads nowhere.
 * @param page rows of the window
 */
export function cellAfterKey(
  { key, ctrlKey }: { readonly key: string; readonly ctrlKey: boolean },
  { row, column }: Cell,
  { rows, columns, page }: { readonly rows: number; readonly columns: number; readonly page: number },
): Cell | null {
  const to = (nextRow: number, nextColumn: number): Cell => ({
    row: Math.max(0, Math.min(rows - 1, nextRow)),
    column: Math.max(0, Math.min(columns - 1, nextColumn)),
  })
  switch (key) {
    case 'ArrowDown':
      return to(row + 1, column)
    case 'ArrowUp':
      return to(row - 1, column)
    case 'ArrowRight':
      return to(row, column + 1)
    case 'ArrowLeft':
      return to(row, column - 1)
    case 'PageDown':
      return to(row + page, column)
    case 'PageUp':
      return to(row - page, column)
    case 'Home':
      return to(ctrlKey ? 0 : row, 0)
    case 'End':
      return to(ctrlKey ? rows - 1 : row, columns - 1)
    default:
      return null
  }
}
