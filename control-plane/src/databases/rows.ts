import type { RowTaker } from './engine.js'
import type { DatabaseAnswer } from './query-type.js'

/** Gathers the rows of an answer up to a number of rows and bytes. Its values are those of JSON. */
export function gatherRows(limits: { readonly rows: number; readonly bytes: number }): RowTaker & {
  answer(): DatabaseAnswer
} {
  const rows: Record<string, unknown>[] = []
  let bytes = 0
  let truncated = false
  return {
    take(row) {
      const plain = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainValue(value)]))
      bytes += JSON.stringify(plain).length
      if (truncated || rows.length >= limits.rows || bytes > limits.bytes) truncated = true
      else rows.push(plain)
      return !truncated
    },
    answer: () => ({ rows, truncated }),
  }
}

/** Bytes as base64, what JavaScript cannot count as text. */
function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (Buffer.isBuffer(value)) return value.toString('base64')
  return value === undefined ? null : value
}
