import { SettingsError } from './errors.js'

/**
 * How both programs take their settings. One table per program says name, kind, default and meaning. The values come from
 * the environment and the command line; the command line wins. A wrong or missing value stops the start with one line.
 */
export type SettingKind = 'text' | 'integer' | 'boolean' | 'choice'

/** One setting, as the table of its program describes it. */
export interface SettingDefinition {
  readonly kind: SettingKind
  readonly meaning: string
  /** The default as text, as in the environment; null: none. A function gets the settings that come before this one. */
  readonly default: string | null | ((soFar: Readonly<Record<string, SettingValue>>) => string)
  readonly choices?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  /** True when `NAME_FILE=/path` may name a file with the value instead. */
  readonly secret?: boolean
}

/** A setting's value after it was checked. */
export type SettingValue = string | number | boolean | null
/** All settings of a program, by the names of their environment variables. */
export type SettingTable = Readonly<Record<string, SettingDefinition>>

/** Where values come from. Reading files is passed in, because this module does no I/O. */
export interface SettingSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Values from the command line by their upper-case name. */
  readonly flags: Readonly<Record<string, string | undefined>>
  readonly readFile: (path: string) => string
}

/** Signs of ASCII that are shown, and blanks between them. A header carries nothing else unchanged. */
const SENDABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/**
 * A token that somebody has to send. One that cannot be sent would never match, and nobody would see why. So it is refused.
 * @throws SettingsError without the token
 */
export function tokenSetting(name: string, text: string | null): string | null {
  if (text === null || SENDABLE.test(text)) return text
  throw new SettingsError(
    `${name}: must be printable ASCII signs, without a blank at either end, or nobody can send it`,
  )
}

/** `RTE_MAX_JOBS` → `rte-max-jobs`. */
export function flagOf(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}

/**
 * Resolves every setting of a table, in its order.
 * @throws SettingsError naming the setting and what it may be
 */
export function resolveSettings(table: SettingTable, sources: SettingSources): Record<string, SettingValue> {
  const settings: Record<string, SettingValue> = {}
  for (const [name, definition] of Object.entries(table)) {
    const given = givenText(name, definition, sources)
    const fallback = typeof definition.default === 'function' ? definition.default(settings) : definition.default
    const text = given ?? fallback
    settings[name] = text === null ? null : parseSetting(name, definition, text)
  }
  return settings
}

function givenText(name: string, definition: SettingDefinition, sources: SettingSources): string | null {
  const direct = sources.flags[name] ?? sources.environment[name]
  // An empty variable is how compose files and unit files say "not set".
  if (direct !== undefined && direct !== '') return direct
  const path = definition.secret ? sources.environment[`${name}_FILE`] : undefined
  if (path === undefined || path === '') return null
  try {
    return sources.readFile(path).replace(/\r?\n$/, '')
  } catch (error) {
    throw new SettingsError(
      `${name}_FILE: cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

function parseSetting(name: string, definition: SettingDefinition, text: string): SettingValue {
  switch (definition.kind) {
    case 'text':
      return text
    case 'choice':
      if (!definition.choices?.includes(text)) {
        throw new SettingsError(
          `${name}: must be one of ${definition.choices?.join(', ') ?? ''}, not ${JSON.stringify(text)}`,
        )
      }
      return text
    case 'boolean':
      if (/^(1|true|yes|on)$/i.test(text)) return true
      if (/^(0|false|no|off)$/i.test(text)) return false
      throw new SettingsError(`${name}: must be 1 or 0, not ${JSON.stringify(text)}`)
    case 'integer': {
      const value = Number(text)
      const minimum = definition.minimum ?? 0
      const maximum = definition.maximum ?? Number.MAX_SAFE_INTEGER
      if (!/^-?\d+$/.test(text) || value < minimum || value > maximum) {
        const range = definition.maximum === undefined ? `from ${minimum} up` : `from ${minimum} to ${maximum}`
        throw new SettingsError(`${name}: must be a whole number ${range}, not ${JSON.stringify(text)}`)
      }
      return value
    }
  }
}
