import type { JobValues } from '../../credentials/job/sealed-values.js'
import { isEmpty } from '../../forms/values/plain.js'
import { MASK } from './masking.js'
import { type SecretFinder, createSecretFinder } from '../../secrets/secret-finder.js'

/** The parts of a launch's values that must not be shown. */
export interface LaunchSecrets {
  /** Passwords. They are hidden wherever they stand, also inside other texts. */
  readonly values: readonly string[]
  /** Keys of password fields. Every value under them is hidden, however short. */
  readonly keys: ReadonlySet<string>
}

const NO_SECRETS: LaunchSecrets = { values: [], keys: new Set() }

/** Extra variables, split into what may be shown and what is secret. */
export interface SplitVariables {
  /** All variables, with a mask in place of each value that contains a password. They may be stored and shown. */
  readonly shown: Record<string, unknown>
  /** The complete values of the masked variables; null when there are none. */
  readonly secret: JobValues | null
}

/** The variable with the launching user. Its values are no passwords, whatever the user's fields are called. */
const USER_VARIABLE = 'ansibleforms_user'

/** Separates the extra variables that contain a password from those that may be shown. */
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
 * A value with a mask in place of each text and number that is a password or contains one. When there is none, the same
 * value is returned.
 * @param isSecret whether the value stands under the key of a password field
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
