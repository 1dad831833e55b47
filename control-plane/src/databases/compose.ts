import type { Credentials } from '../credentials/stored/credentials.js'
import type { Ground } from '../ground/ground.js'
import { createDatabases } from './databases.js'
import type { AskLimits } from './engine.js'
import type { Databases } from './query-type.js'

/** What a field of a form may cost a database. */
const LIMITS: AskLimits = {
  connectMs: 5_000,
  statementMs: 30_000,
  rows: 10_000,
  bytes: 4 * 1024 * 1024,
  connections: 4,
  idleMs: 30_000,
}

/** Builds what asks databases for fields of forms. */
export function composeDatabases({ log, onClose }: Ground, credentials: Pick<Credentials, 'open'>): Databases {
  const databases = createDatabases({ credentials, log, limits: LIMITS })
  onClose(() => databases.close())
  return databases
}
