/** Lines that an address names, counted from 0, both included. */
export interface LineRange {
  readonly from: number
  readonly to: number
}

/** Reads `#L123` or `#L100-140`; null: it names no lines. Lines are counted from 1 in addresses. */
export function linesOfHash(hash: string): LineRange | null {
  const [, first, last] = /^#L(\d{1,10})(?:-L?(\d{1,10}))?$/.exec(hash) ?? []
  if (first === undefined || Number(first) === 0) return null
  const [one, other] = [Number(first) - 1, Number(last ?? first) - 1]
  return { from: Math.max(0, Math.min(one, other)), to: Math.max(one, other) }
}

/** Whether an address names an event (`#E4711`), a task (`#T17`) or a host (`#H=web1`). */
export function isNamedPlace(hash: string): boolean {
  return /^#([ET]\d|H=.)/.test(hash)
}

/** The address of lines inside their page. */
export function hashOfLines({ from, to }: LineRange): string {
  return from === to ? `#L${from + 1}` : `#L${from + 1}-${to + 1}`
}
