import { createHash } from 'node:crypto'
import type { CopiedRow } from '../store/engine/copied-database.js'
import { rowsRecord } from './records.js'

const MODULUS = 1n << 256n

/**
 * A digest of the rows of a table, whatever their order is: databases give rows in different orders. It is the sum of
 * the SHA-256 of each row, modulo 2^256.
 */
export class TableDigest {
  #sum = 0n
  #rows = 0

  /** @param columns those that count; a later release may have added others. Left out: all */
  add(rows: readonly CopiedRow[], columns?: readonly string[]): void {
    for (const row of rows) {
      const own = columns ? Object.fromEntries(columns.map((column) => [column, row[column] ?? null])) : row
      const text = JSON.stringify(rowsRecord('', [own]))
      this.#sum = (this.#sum + BigInt(`0x${createHash('sha256').update(text).digest('hex')}`)) % MODULUS
      this.#rows += 1
    }
  }

  get rows(): number {
    return this.#rows
  }

  /** In hexadecimal. */
  get digest(): string {
    return this.#sum.toString(16).padStart(64, '0')
  }
}
