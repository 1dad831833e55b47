import { readFile } from 'node:fs/promises'
import { isErrno } from '@holdfast/host/system-errors'
import { doubtful, fine, type Finding, wrong } from '@holdfast/protocol'
import { type RoleConfig, parseRoleConfig } from '../auth/roles/role-config.js'
import { messageOf } from '../errors.js'
import { checkFormFiles } from '../forms/files/check-form-files.js'
import type { ControlPlaneSettings } from '../settings.js'
import { YamlProblem } from '../texts/yaml-text.js'

/** Reads config.yaml. Null: there is none yet. @throws YamlProblem, or the error of reading */
export async function readConfig(path: string): Promise<RoleConfig | null> {
  try {
    return parseRoleConfig(await readFile(path, 'utf8'))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/** Checks whether config.yaml and the forms would load. */
export async function checkContent({
  configPath,
  formsPath,
}: Pick<ControlPlaneSettings, 'configPath' | 'formsPath'>): Promise<Finding[]> {
  return [await configFinding(configPath), await formsFinding(formsPath)]
}

async function configFinding(path: string): Promise<Finding> {
  const subject = 'config.yaml'
  try {
    const config = await readConfig(path)
    if (config === null) return fine(subject, `${path} is made at the first start`)
    return fine(subject, `${config.roles.length} roles in ${path}`)
  } catch (error) {
    const words = error instanceof YamlProblem ? `${path}, line ${error.line}: ${error.reason}` : messageOf(error)
    return wrong(subject, words, 'mend it; until then the last good copy is used, if there is one')
  }
}

async function formsFinding(path: string): Promise<Finding> {
  const subject = 'forms'
  const { forms, errors } = await checkFormFiles([path])
  const isMissing = forms.length === 0 && errors.every(({ file, reason }) => file === path && /ENOENT/.test(reason))
  if (isMissing) return fine(subject, 'none yet')
  if (errors.length === 0) return fine(subject, `${forms.length} in ${path}`)
  const words = `good: ${forms.length}, wrong: ${errors.length}`
  return doubtful(subject, words, `holdfast form check ${path}`)
}
