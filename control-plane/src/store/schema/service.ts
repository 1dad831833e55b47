import type { Generated } from 'kysely'
import type { Fixed } from './fixed.js'

/** One row for each control plane that shares the database, as long as it runs and a while after it died. */
export interface NodeTable {
  id: Fixed<string>
  version: Fixed<string>
  /** Host and port, for people. */
  address: Fixed<string>
  started_at: Fixed<number>
  /** The time of its own clock. The others only look whether it changes. */
  last_seen: number
}

/** One row with the settings that the header of the pages shows. */
export interface AppearanceTable {
  id: Fixed<number>
  theme: string
  name: string
  announcement: string
  environment: string
}

/** The locks, such as the one of the form designer. */
export interface LockTable {
  name: Fixed<string>
  /** As it is shown. */
  holder: string
  /** The account that holds it; null: it is gone. */
  holder_id: number | null
  taken_at: number
  touched_at: number
}

/** The stored credentials. */
export interface CredentialTable {
  id: Generated<number>
  name: string
  type: string
  user_name: string | null
  host: string | null
  port: number | null
  description: string
  /** JSON object: the options that only some types have; null: none. */
  options: string | null
  /** Encrypted with ENCRYPTION_SECRET and bound to the name. */
  secret: Buffer
  created_at: Fixed<number>
  updated_at: number
}

/**
 * Two rows: clocks that count only while a control plane works and reaches the database (`nodes/service-clock.ts`). One
 * is for waits, the other one for ages.
 */
export interface ServiceClockTable {
  id: Fixed<number>
  /** Milliseconds since an origin that is later than any wall clock. */
  time: number
  /** Goes up with every move, so that no time counts twice. */
  turn: number
}

/**
 * Which times the wall clocks of the control planes showed (`ages/`): one row for each hour of work, so at most 24 for a
 * day.
 */
export interface ShownTimeTable {
  /** The hour by the service clock for ages. */
  hour: Fixed<number>
  /** In milliseconds since the epoch. */
  earliest: number
  latest: number
}

/** At most one row. It tells this database from a restored earlier state of it. */
export interface DatabaseIdTable {
  row: Fixed<number>
  /** Random. A backup does not have it, so a restored database gets a new one. */
  id: Fixed<string>
}
