import { createHash } from 'node:crypto'
import type { Selectable } from 'kysely'
import { isoTime } from '../time/clock.js'
import type { AuditTable } from '../store/schema/audit.js'

type AuditRow = Selectable<AuditTable>

/** A record of the chain: the text that is hashed, and its hash. */
export interface ChainedText {
  readonly text: string
  readonly hash: string
}

/**
 * The text of a record in the chain, as one line of JSON. It contains the hash of the record before it. So whoever
 * changes, removes or exchanges a record changes every hash after it. The hash of the record is the SHA-256 of this
 * text.
 */
export function chainedText(row: Omit<AuditRow, 'position' | 'hash'>, position: number, previous: string): ChainedText {
  const record = {
    position,
    previous,
    id: row.id,
    time: isoTime(row.time),
    user: row.user_name,
    user_type: row.user_type,
    user_id: row.user_id,
    address: row.address,
    action: row.action,
    object: { kind: row.object_kind, id: row.object_id, name: row.object_name },
    status: row.status,
    request_id: row.request_id,
    detail: row.detail,
  }
  const text = plainJson(record)
  return { text, hash: createHash('sha256').update(text).digest('hex') }
}

/**
 * The line that is sent elsewhere: the same text, with the hash as its last property. Without the hash, the line is
 * exactly the hashed text. So anybody can verify a file of such lines.
 */
export function exportedLine({ text, hash }: ChainedText): string {
  return `${text.slice(0, -1)},"hash":"${hash}"}`
}

/**
 * JSON without control characters and without characters that change the direction of text, because somebody may print
 * it on a terminal.
 */
function plainJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
