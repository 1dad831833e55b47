import type { ColumnType, Generated } from 'kysely'
import type { UserType } from '../../words/user-type.js'
import type { Fixed } from './fixed.js'

/** The accounts. `user_type` and `username_key` together are unique. */
export interface UserTable {
  id: Generated<number>
  username: string
  /** Lower-case name, unique with the type. */
  username_key: string
  type: UserType
  password_hash: string | null
  /**
   * The id by which the provider knows a user who is not local, unique with the type; null where there is only a name.
   */
  subject: ColumnType<string | null, string | null | undefined, string | null>
  email: string | null
  /** JSON array of group names without prefix. */
  groups: string
  enabled: number
  /** Number of groups of the last sign-in that were not stored, because they were too many or too long. */
  groups_left_out: Generated<number>
  created_at: Fixed<number>
  /** 1: the user has to change the password before they can do anything else. */
  password_must_change: ColumnType<number, number | undefined, number>
  /**
   * The deleted account that had this name before, 0 when its id is unknown. A role that names the user then does not
   * mean this account. Null: nobody had the name before, or an admin accepted this account under it.
   */
  name_had_by: ColumnType<number | null, number | null | undefined, null>
}

/** The names of deleted accounts. The next account with such a name belongs to somebody else. */
export interface PastNameTable {
  type: Fixed<UserType>
  /** As in `user`. */
  username_key: Fixed<string>
  /** The last account with this name; 0 when its id is unknown. */
  user_id: number
}

/** The sessions: sign-ins and API tokens. */
export interface SessionTable {
  id: Fixed<string>
  user_id: Fixed<number>
  /** `login`: a sign-in; `api`: an API token. */
  kind: Fixed<'login' | 'api'>
  name: string | null
  /** SHA-256 of the one refresh token that is valid now; null for API tokens. */
  refresh_hash: string | null
  /** SHA-256 of the secret part of an API token, or of the cookie of a browser; null for sign-ins with tokens. */
  token_hash: string | null
  created_at: Fixed<number>
  expires_at: number
  last_used_at: number | null
  /** The client's network at the sign-in; null for API tokens. */
  network: ColumnType<string | null, string | null | undefined, never>
  /** JSON array: the scopes of an API token; null: everything that its owner may do. */
  scopes: ColumnType<string | null, string | null | undefined, never>
}

/** A code that a client with a browser exchanges once for its tokens. */
export interface SignInCodeTable {
  /** SHA-256 of the code. */
  hash: Fixed<string>
  user_id: Fixed<number>
  /** SHA-256, base64url, of the text that the client has to send together with the code. */
  challenge: Fixed<string>
  expires_at: Fixed<number>
}

/** Failed sign-ins by key. A key is a name at an address, a name from everywhere, or an address (`auth/sign-in/sign-in.ts`). */
export interface SignInFailureTable {
  key: Fixed<string>
  failures: number
  first_at: number
  locked_until: number | null
  /** How often the key was locked, which makes the next lock longer, and until when this number counts. */
  locks: ColumnType<number, number | undefined, number>
  locks_count_until: number | null
}

/** The networks from which a user has signed in with a password. */
export interface KnownNetworkTable {
  user_id: Fixed<number>
  /** An IPv4 address, or the /64 of an IPv6 address. */
  network: Fixed<string>
  last_at: number
}
