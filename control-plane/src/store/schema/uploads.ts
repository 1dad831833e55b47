import type { Generated } from 'kysely'
import type { Fixed } from './fixed.js'

/** A file that a user uploaded. Its bytes are in the upload folder under the stored name. */
export interface UploadTable {
  id: Generated<number>
  /** Random, 32 hex digits. */
  stored_name: Fixed<string>
  /** The account that uploaded it. */
  owner_id: Fixed<number>
  owner_name: Fixed<string>
  owner_type: Fixed<string>
  size: Fixed<number>
  sha256: Fixed<string>
  /** The name of the file on the user's computer; never a path. */
  original_name: Fixed<string>
  mime_type: Fixed<string>
  encoding: Fixed<string>
  created_at: Fixed<number>
  /** 1 from its first job on. Then it is removed together with the last job that refers to it. */
  used: number
}

/** The space of an unfinished upload, so that uploads that begin meanwhile leave this space free. */
export interface UploadClaimTable {
  id: Generated<number>
  owner_id: Fixed<number>
  /** The largest possible size of its file. It grows during an upload without an announced size. */
  bytes: number
  /** How many of these bytes were on the disk at the last look. */
  written: number
  /** In milliseconds. If a claim is not touched any more, its node is gone. */
  touched_at: number
}
