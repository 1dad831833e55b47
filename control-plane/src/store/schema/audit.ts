import type { ColumnType, Generated } from 'kysely'
import type { UserType } from '../../words/user-type.js'
import type { Fixed } from './fixed.js'

/** One record for each request that would change something. `status` is null until the request was answered. */
export interface AuditTable {
  id: Generated<number>
  time: Fixed<number>
  user_name: string | null
  user_type: UserType | null
  /** The account; null: no account is known. */
  user_id: ColumnType<number | null, number | null | undefined, number | null>
  address: Fixed<string>
  action: string
  object_kind: string
  object_id: string | null
  object_name: string | null
  status: number | null
  request_id: Fixed<string>
  /** A special request, such as `force`; null: none. */
  detail: ColumnType<string | null, string | null | undefined, string | null>
  /** Its place in the chain: 1, 2, 3 …; null: not chained yet. A record with a place is never changed. */
  position: ColumnType<number | null, null | undefined, number>
  /** SHA-256 over the record, its position and the hash of the one before; hex. */
  hash: ColumnType<string | null, null | undefined, string>
}

/** One row: the beginning and the end of the chain of the audit trail. */
export interface AuditChainTable {
  id: Fixed<number>
  /** The newest record of the chain; 0 and the hash of zeros when it is empty. */
  head_position: number
  head_hash: string
  /** The last record that retention removed; 0 when it has removed none. */
  anchor_position: number
  anchor_hash: string
}

/** For each place outside: the position up to which the audit trail was sent. */
export interface AuditExportTable {
  /** `file` or `syslog`. */
  name: Fixed<string>
  /** The last record of the chain that was sent. */
  position: number
  /** The node that sends, and until when by its own clock. Meanwhile other nodes do not send the same records. */
  holder: string | null
  held_until: number
}
