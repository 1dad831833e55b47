import { SettingsError } from '@holdfast/protocol'

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * `30m`, `24h`, `90s`, `7d`, or a bare number of seconds, as milliseconds.
 * @throws SettingsError naming the setting
 */
export function durationOf(name: string, text: string): number {
  const [, digits, unit] = /^(\d{1,9})([smhd]?)$/.exec(text.trim()) ?? []
  const ms = Number(digits) * (UNITS[unit === undefined || unit === '' ? 's' : unit] ?? Number.NaN)
  if (Number.isSafeInteger(ms) && ms > 0) return ms
  throw new SettingsError(`${name}: must be a time such as 90s, 30m, 24h or 7d, not ${JSON.stringify(text)}`)
}
