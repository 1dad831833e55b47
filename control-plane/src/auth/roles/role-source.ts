import { readFile, stat } from 'node:fs/promises'
import { SettingsError } from '@holdfast/protocol'
import { messageOf } from '../../errors.js'
import { createPrivateFile } from '../../secrets/secrets.js'
import { YamlProblem } from '../../texts/yaml-text.js'
import { lastGoodOf } from './last-good-file.js'
import { FIRST_CONFIG, type RoleConfig, parseRoleConfig } from './role-config.js'

/** Why the present file is not in force. */
export interface RoleFileProblem {
  readonly file: string
  readonly line: number | null
  readonly reason: string
}

/** The present roles of config.yaml. After a broken edit, the last valid ones stay in force. */
export type RoleSource = Awaited<ReturnType<typeof openRoleSource>>

interface Log {
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
}

/**
 * Reads the file, and reads it again when it changes. A missing file is made. The version in force is kept as a copy
 * beside the file. So a start with a broken file uses the last valid version, as a running service does.
 * @throws SettingsError when the file cannot be read, or when it has a mistake and there is no valid copy
 */
export async function openRoleSource(path: string, deps: { readonly log: Log }) {
  await createPrivateFile(path, FIRST_CONFIG)
  let { seen, config, problem } = await firstRoles(path, deps.log)

  const listeners: ((config: RoleConfig) => void)[] = []
  let asked = 0
  let taken = 0
  /** Checks the file at every request. One stat is cheap, and so an edit counts from the next request on. */
  async function look(): Promise<void> {
    const turn = (asked += 1)
    try {
      const fingerprint = await fingerprintOf(path)
      if (fingerprint === seen) return
      const text = await readFile(path, 'utf8')
      // A check that began later may have ended earlier. Its result is newer.
      if (turn < taken) return
      taken = turn
      seen = fingerprint
      config = parseRoleConfig(text)
      problem = null
      await keepAsGood(path, text, deps.log)
      deps.log.info({ file: path }, 'roles were read again')
      for (const listener of listeners) listener(config)
    } catch (error) {
      // A file that could not be read is read again, even if it comes back unchanged.
      if (!(error instanceof YamlProblem)) seen = ''
      const found = roleFileProblem(path, error)
      if (found.reason === problem?.reason && found.line === problem.line) return
      problem = found
      deps.log.warn(found, 'the roles were not changed: the file is wrong and the last good one stays in force')
    }
  }

  return {
    async current(): Promise<RoleConfig> {
      await look()
      return config
    },
    /** The mistake in the file; null when the present file is in force. */
    problem: (): RoleFileProblem | null => problem,
    /** Calls the listener when the roles were read again. */
    onChange: (listener: (config: RoleConfig) => void): void => void listeners.push(listener),
  }
}

interface FirstRoles {
  readonly seen: string
  readonly config: RoleConfig
  readonly problem: RoleFileProblem | null
}

/** @throws SettingsError when the file cannot be read, or when it has a mistake and there is no valid copy */
async function firstRoles(path: string, log: Log): Promise<FirstRoles> {
  let seen = ''
  try {
    seen = await fingerprintOf(path)
    const text = await readFile(path, 'utf8')
    const config = parseRoleConfig(text)
    await keepAsGood(path, text, log)
    return { seen, config, problem: null }
  } catch (error) {
    const problem = roleFileProblem(path, error)
    // If the file cannot be read, nobody knows which rights it gives. If it has a mistake, an edit failed, and the
    // version before it counts.
    const good = error instanceof YamlProblem ? await goodRoles(path) : null
    if (good === null) {
      throw new SettingsError(`${path}${problem.line === null ? '' : `, line ${problem.line}`}: ${problem.reason}`)
    }
    log.warn(problem, `the file is wrong: the roles are those of ${lastGoodOf(path).path}`)
    return { seen, config: good, problem }
  }
}

/** The roles that were in force before; null when there is no copy, or when this release cannot read it. */
async function goodRoles(path: string): Promise<RoleConfig | null> {
  const text = await lastGoodOf(path).read()
  if (text === null) return null
  try {
    return parseRoleConfig(text)
  } catch (error) {
    if (error instanceof YamlProblem) return null
    throw error
  }
}

/** Without the copy, only a later start with a broken file fails. So a full disk is not an error here. */
async function keepAsGood(path: string, text: string, log: Log): Promise<void> {
  try {
    await lastGoodOf(path).keep(text)
  } catch (error) {
    log.warn(
      { file: path, reason: messageOf(error) },
      'no copy of the roles could be kept for a start with a broken file',
    )
  }
}

/** A text that changes whenever the file changes, also when an editor replaces the file. */
async function fingerprintOf(path: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(path)
  return `${ino} ${size} ${mtimeMs}`
}

function roleFileProblem(file: string, error: unknown): RoleFileProblem {
  if (error instanceof YamlProblem) return { file, line: error.line, reason: error.reason }
  return { file, line: null, reason: messageOf(error) }
}
