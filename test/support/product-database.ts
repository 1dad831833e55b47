import pg from 'pg'
import { closeDatabase, databasePathOf, openDatabase, query } from './database-file.js'
import type { Product } from './product.js'

/** The database of a product, looked at from outside, wherever it is. */
export interface ProductDatabase {
  /** All rows of a query with a `?` for each parameter. */
  rows<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>
  close(): Promise<void>
}

export async function openProductDatabase(product: Product): Promise<ProductDatabase> {
  if (product.databaseUrl !== null) return openServer(product.databaseUrl)
  const database = await openDatabase(databasePathOf(product), 'read')
  return { rows: (sql, parameters) => query(database, sql, parameters), close: () => closeDatabase(database) }
}

/** Rows of one query, read beside the running control planes. */
export async function readProductRows<Row>(
  product: Product,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  const database = await openProductDatabase(product)
  try {
    return await database.rows<Row>(sql, parameters)
  } finally {
    await database.close()
  }
}

async function openServer(url: string): Promise<ProductDatabase> {
  const client = new pg.Client({ connectionString: url, types: { getTypeParser } })
  // Whoever asks is told by the question itself.
  client.on('error', () => undefined)
  await client.connect()
  return {
    async rows<Row>(sql: string, parameters: readonly unknown[] = []) {
      let count = 0
      return (
        await client.query(
          sql.replace(/\?/g, () => `$${(count += 1)}`),
          [...parameters],
        )
      ).rows as Row[]
    },
    close: () => client.end(),
  }
}

/** Whole numbers come as numbers. */
function getTypeParser(id: number, format?: 'text' | 'binary') {
  return id === pg.types.builtins.INT8 ? Number : (pg.types.getTypeParser(id, format) as (value: string) => unknown)
}
