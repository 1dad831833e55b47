import { createHash } from 'node:crypto'
import type { CopiedRow } from '../store/engine/copied-database.js'
import { rowsRecord } from './records.js'

const MODULUS = 1n << 256n

/**
 * A digest of the rows of a table. It is the sum of the SHA-256 of each row, modulo 2^256. So the order of the rows does not
 * matter: databases give them in different orders.
 */
export class TableDigest {
  #sum = 0n
  #rows = 0

  /** Adds rows. @param columns the columns that count, because a later release may have added others. Left out: all */
  add(rows: readonly CopiedRow[], columns?: readonly string[]): void {
    for (const row of rows) {
      const own = columns ? Object.fromEntries(columns.map((column) => [column, row[column] ?? null])) : row
      const text = JSON.stringify(rowsRecord('', [own]))
      this.#sum = (this.#sum + BigInt(`0x${createHash('sha256').update(text).digest('hex')}`)) % MODULUS
      this.#rows += 1
    }
  }

  /** How many rows were added. */
  get rows(): number {
    return this.#rows
  }

  /** The digest of all rows that were added, in hexadecimal. */
  get digest(): string {
    return this.#sum.toString(16).padStart(64, '0')
  }
}
