import type { Ground } from '../ground/ground.js'
import { type DatabasePlace, holdDatabase, noticeOtherState, openStore } from './open-store.js'
import type { RawStore } from './store.js'

/** What the store needs of the settings. */
export interface StoreSettings {
  readonly database: DatabasePlace
}

/**
 * Opens the database. A database file is reserved for this process before its tables are brought up to date.
 * @throws DatabaseHeldError, UnavailableError
 */
export async function composeStore(
  { clock, timers, log, onClose }: Ground,
  { database }: StoreSettings,
): Promise<RawStore> {
  const warn = (text: string) => log.warn(text)
  const letGo = await holdDatabase(database, clock.now(), warn)
  onClose(letGo)
  const store = await openStore(database, warn)
  onClose(() => store.close())
  onClose(await noticeOtherState(database, store, { timers, warn }))
  return store
}
