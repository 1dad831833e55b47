import { readFile } from 'node:fs/promises'
import { SettingsError } from '@holdfast/protocol'
import { isErrno } from '@holdfast/host/system-errors'
import type { Logger } from 'pino'
import { messageOf } from './errors.js'
import type { ControlPlaneSettings, LogLevel } from './settings.js'
import { CONTROL_PLANE_SETTINGS } from './settings-table.js'

const { choices } = CONTROL_PLANE_SETTINGS.LOG_LEVEL

/**
 * Gives the log the level of LOG_LEVEL_FILE. Without the file, or if it is empty, the log gets the level of LOG_LEVEL.
 * Without that setting nothing changes.
 * @throws SettingsError that names the setting, for a file that cannot be read or has another text; nothing changes then
 */
export async function setLogLevel(
  { logLevel, logLevelFile }: Pick<ControlPlaneSettings, 'logLevel' | 'logLevelFile'>,
  log: Pick<Logger, 'level' | 'info' | 'isLevelEnabled'>,
): Promise<void> {
  if (logLevelFile === null) return
  const before = log.level
  const level = (await readLogLevel(logLevelFile)) ?? logLevel
  if (level === before) return
  const say = (): void => log.info({ level, before }, 'the log gets another level')
  // The line comes before the change if the new level would leave it out.
  const isShown = log.isLevelEnabled('info')
  if (isShown) say()
  log.level = level
  if (!isShown) say()
}

async function readLogLevel(path: string): Promise<LogLevel | null> {
  const text = (await readFile(path, 'utf8').catch((error: unknown) => nothingIfMissing(path, error))).trim()
  if (text === '') return null
  const level = choices.find((known) => known === text)
  if (level === undefined) throw new SettingsError(`LOG_LEVEL_FILE: ${path} must have one of ${choices.join(', ')}`)
  return level
}

function nothingIfMissing(path: string, error: unknown): string {
  if (isErrno(error, 'ENOENT')) return ''
  throw new SettingsError(`LOG_LEVEL_FILE: cannot read ${path}: ${messageOf(error)}`)
}
