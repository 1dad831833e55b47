import sqlite3 from 'sqlite3'
import { UnavailableError, messageOf } from '../../errors.js'
import { type Statements, createStatements } from './sqlite-statements.js'

/** How long a statement waits for a lock that another process has on the file, in milliseconds. */
const BUSY_MS = 2000

/** Opens an SQLite file. @throws UnavailableError when it cannot be opened */
export function openHandle(path: string, mode: number): Promise<Statements> {
  return new Promise((resolve, reject) => {
    const handle = new sqlite3.Database(path, mode, (error) => {
      if (error) {
        reject(new UnavailableError('database_unreachable', `cannot open the database ${path}: ${messageOf(error)}`))
        return
      }
      handle.configure('busyTimeout', BUSY_MS)
      resolve(createStatements(handle))
    })
  })
}
