import { once } from 'node:events'
import { join } from 'node:path'
import sqlite3 from 'sqlite3'
import type { Product } from './product.js'

/** The control plane's database, looked at and held from outside, as a backup or a person with a shell would. */
export type DatabaseFile = sqlite3.Database

export function databasePathOf(product: Product): string {
  return join(product.folder, 'persistent/holdfast.db')
}

export async function openDatabase(path: string, access: 'read' | 'write'): Promise<DatabaseFile> {
  const database = new sqlite3.Database(path, access === 'read' ? sqlite3.OPEN_READONLY : sqlite3.OPEN_READWRITE)
  await once(database, 'open')
  return database
}

/** All rows of a query. */
export function query<Row>(database: DatabaseFile, sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    database.all<Row>(sql, parameters, (error, rows) => (error ? reject(error) : resolve(rows)))
  })
}

export function closeDatabase(database: DatabaseFile): Promise<void> {
  return new Promise((resolve, reject) => {
    database.close((error) => (error ? reject(error) : resolve()))
  })
}

/** Rows of one query, read beside the running control plane. */
export async function readRows<Row>(
  product: Product,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  const database = await openDatabase(databasePathOf(product), 'read')
  try {
    return await query<Row>(database, sql, parameters)
  } finally {
    await closeDatabase(database)
  }
}
