import type { ResultCodeError } from 'ldapts'

/**
 * The codes with which directories refuse a password: no such entry, an entry without a password, a wrong password, and the
 * codes of several products for a blocked account or an expired password.
 */
const REASONS: ReadonlyMap<number, string> = new Map([
  [19, 'a rule of the directory forbids this sign-in (constraint violation): the account may be locked'],
  [32, 'the directory has no such entry'],
  [48, 'the entry has no password with which anybody could sign in'],
  [49, 'the password is wrong, or the directory does not say more'],
  [50, 'the user has no right to sign in at the directory (insufficient access)'],
  [53, 'the directory is unwilling: the account may be disabled or locked, or the password may have expired'],
])

/** What Active Directory adds to its code 49: `… error, data 775, v4563`. */
const ACTIVE_DIRECTORY: Readonly<Record<string, string>> = {
  '525': 'Active Directory does not know the user',
  '52e': 'the password is wrong',
  '530': 'Active Directory does not allow the user to sign in at this time',
  '531': 'Active Directory does not allow the user to sign in from this host',
  '532': 'the password has expired',
  '533': 'the account is disabled',
  '701': 'the account has expired',
  '773': 'the password has to be changed first',
  '775': 'the account is locked',
}

/** Why a directory refuses a password, for the log; null: the error is about something else. */
export function passwordRefusal({ code, message }: ResultCodeError): string | null {
  const reason = REASONS.get(code)
  if (reason === undefined) return null
  const data = /\bdata ([0-9a-f]{3,8})\b/i.exec(message.slice(0, 1000))?.[1]?.toLowerCase().replace(/^0+/, '')
  return `${(data === undefined ? undefined : ACTIVE_DIRECTORY[data]) ?? reason} (code ${code}${data === undefined ? '' : `, data ${data}`})`
}

/** Whether a refusal says only that the password is wrong. This happens every day. */
export function isEveryday({ code, message }: ResultCodeError): boolean {
  return code === 49 && !/\bdata (?!0*52[5e]\b)/i.test(message.slice(0, 1000))
}
