import type { JobValues } from '../../credentials/job-vault.js'
import { isEmpty } from '../../forms/values/plain.js'
import { MASK } from './masking.js'
import { type SecretFinder, createSecretFinder } from './secret-finder.js'

/** What must not be seen of the values of a launch. */
export interface LaunchSecrets {
  /** Passwords: hidden wherever they stand, also inside of other texts. */
  readonly values: readonly string[]
  /** Keys of password fields: whatever stands under them is hidden, however short. */
  readonly keys: ReadonlySet<string>
}

const NO_SECRETS: LaunchSecrets = { values: [], keys: new Set() }

/** Extra variables, apart. */
export interface SplitVariables {
  /** All of them, with a mask in the place of each value that holds a password: this may be stored and shown. */
  readonly shown: Record<string, unknown>
  /** Those in which a mask stands, each whole; null when there is none. */
  readonly secret: JobValues | null
}

/** The launching user: what is told of them is no password, whatever their fields are called. */
const USER_VARIABLE = 'ansibleforms_user'

/** Takes the extra variables that hold a password out of those that may be seen. */
export function splitVariables(
  extravars: Readonly<Record<string, unknown>>,
  { values, keys }: LaunchSecrets,
): SplitVariables {
  if (values.length === 0 && keys.size === 0) return { shown: { ...extravars }, secret: null }
  const finder = createSecretFinder(values)
  const shown: [string, unknown][] = []
  const variables: [string, unknown][] = []
  for (const [name, value] of Object.entries(extravars)) {
    const ofUser = name === USER_VARIABLE
    const masked = maskSecrets(value, finder, ofUser ? NO_SECRETS.keys : keys, !ofUser && keys.has(name))
    shown.push([name, masked])
    if (masked !== value) variables.push([name, value])
  }
  const secret =
    variables.length === 0 ? null : { variables: Object.fromEntries(variables), hidden: [...new Set(values)] }
  return { shown: Object.fromEntries(shown), secret }
}

/**
 * A value with a mask in the place of each text and number that is a password or holds one; the very same value when there
 * is none.
 * @param isSecret whether it stands under the key of a password field
 */
export function maskSecrets(
  value: unknown,
  finder: SecretFinder,
  keys: ReadonlySet<string>,
  isSecret: boolean,
): unknown {
  if (typeof value === 'string' || typeof value === 'number') {
    return (isSecret && !isEmpty(value)) || finder.holds(String(value)) ? MASK : value
  }
  if (typeof value !== 'object' || value === null) return value
  let isChanged = false
  const masked = (name: string, entry: unknown) => {
    const after = maskSecrets(entry, finder, keys, isSecret || keys.has(name))
    isChanged ||= after !== entry
    return after
  }
  if (Array.isArray(value)) {
    const entries = value.map((entry) => masked('', entry))
    return isChanged ? entries : value
  }
  const entries = Object.entries(value).map(([name, entry]): [string, unknown] => {
    const isHeld = finder.holds(name)
    isChanged ||= isHeld
    return [isHeld ? MASK : name, masked(name, entry)]
  })
  return isChanged ? Object.fromEntries(entries) : value
}
