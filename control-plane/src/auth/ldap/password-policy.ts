import { Control } from 'ldapts'
import { type AnswerControl, BrokenAnswer, partsOf } from './answers.js'

/** Draft Behera, "Password Policy for LDAP Directories": request and response have the same type. OpenLDAP and others. */
const POLICY = '1.3.6.1.4.1.42.2.27.8.5.1'
/** The controls of Netscape, which 389 Directory Server and others add by themselves. */
const EXPIRED = '2.16.840.1.113730.3.4.4'
const EXPIRING = '2.16.840.1.113730.3.4.5'

/** Tags in the response: the warning, which holds one of two numbers, and the error. */
const WARNING = 0xa0
const GRACE = 0x81
const ERROR = 0x81
const SEQUENCE = 0x30

/** The words of the draft for the errors that a sign-in may have. */
const ERRORS: Readonly<Record<number, string>> = {
  0: 'the password has expired',
  1: 'the account is locked',
  2: 'the password has to be changed first',
}

/** Asks a directory to say how it stands with the password. A directory that does not know it ignores it. */
export class PasswordPolicyRequest extends Control {
  constructor() {
    super(POLICY)
  }
}

/** What a directory says beside the result of a bind. */
export interface PolicySays {
  /** Why nobody may sign in with this password, although it is right; null: nothing is against it. */
  readonly refusal: string | null
  /** What an admin may want to know; null: nothing. */
  readonly warning: string | null
}

/** Reads the controls of the answer to a bind. @throws BrokenAnswer */
export function policyOf(controls: readonly AnswerControl[]): PolicySays {
  let [refusal, warning]: [string | null, string | null] = [null, null]
  for (const { type, value } of controls) {
    if (type === EXPIRED) refusal ??= 'the password has expired, and has to be changed first'
    else if (type === EXPIRING) warning ??= 'the password will expire soon'
    else if (type === POLICY) {
      const said = responseOf(value)
      refusal = said.refusal ?? refusal
      warning = said.warning ?? warning
    }
  }
  return { refusal, warning }
}

function responseOf(value: Buffer | null): PolicySays {
  if (value === null) throw new BrokenAnswer('the directory sends a password policy without content')
  const [response] = partsOf(value, [SEQUENCE])
  const parts = partsOf(response?.content ?? value)
  const error = parts.find(({ tag }) => tag === ERROR)
  const warning = parts.find(({ tag }) => tag === WARNING)
  const code = error === undefined ? null : numberOf(error.content)
  return {
    refusal: code === null ? null : (ERRORS[code] ?? `the password policy of the directory forbids it (error ${code})`),
    warning: warning === undefined ? null : warningOf(warning.content),
  }
}

function warningOf(content: Buffer): string | null {
  const [kind] = partsOf(content)
  if (kind?.tag !== GRACE) return 'the password will expire soon'
  return `the password has expired, and the directory allows ${numberOf(kind.content)} more sign-ins with it`
}

function numberOf(content: Buffer): number {
  if (content.length === 0 || content.length > 4) throw new BrokenAnswer('the directory sends a broken password policy')
  return content.readIntBE(0, content.length)
}
