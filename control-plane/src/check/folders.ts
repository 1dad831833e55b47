import { access, constants, stat, statfs } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { isErrno, unlessMissing } from '@holdfast/host/system-errors'
import { doubtful, fine, type Finding, wrong } from '@holdfast/protocol'
import { messageOf } from '../errors.js'
import { walkFolder } from '../runners/files/folder-walk.js'
import { entriesInWords, namedInWords } from '../runners/files/left-out.js'
import type { ControlPlaneSettings } from '../settings.js'

const MEBIBYTE = 1024 * 1024
/** With less free space than this, the output of one day of jobs may not fit. */
const LITTLE_DISK_BYTES = 1024 * MEBIBYTE

/** Files with secrets that the service makes in its data folder. */
const SECRET_FILES = ['encryption-secret', 'access-token-secret']

type Places = Pick<ControlPlaneSettings, 'persistentPath' | 'playbooksPath' | 'formsPath' | 'runnerFilesMaxBytes'>

/**
 * Checks the data folder: who owns it, who may look into it, and how much free space there is. Checks whether the folders
 * of forms and playbooks can be read, and whether everything of the playbooks can travel to a runner.
 */
export async function checkFolders(places: Places): Promise<Finding[]> {
  const { persistentPath, formsPath } = places
  const data = await dataFinding(persistentPath)
  if (data.state === 'problem') return [data]
  return [
    data,
    ...(await secretFindings(persistentPath)),
    ...(await diskFindings(persistentPath)),
    await readable('forms folder', formsPath),
    await playbookFinding(places),
  ]
}

async function dataFinding(path: string): Promise<Finding> {
  const subject = 'data folder'
  const { username, uid } = userInfo()
  try {
    const found = await stat(path)
    if (found.uid !== uid) {
      const advice = 'run this as the user of the control plane, such as: runuser -u holdfast -- holdfast check'
      return wrong(subject, `${path} belongs to the user with the id ${found.uid}, and this is ${username}`, advice)
    }
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
    if ((found.mode & 0o077) === 0) return fine(subject, path)
    return doubtful(subject, `other users can look into ${path}, where secrets are`, `chmod 0700 ${path}`)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) return wrong(subject, messageOf(error), `let ${username} read and write ${path}`)
    return missing(subject, path, username)
  }
}

async function missing(subject: string, path: string, username: string): Promise<Finding> {
  try {
    await access(dirname(path), constants.W_OK | constants.X_OK)
    return fine(subject, `${path} is made at the first start`)
  } catch (error) {
    const words = `${path} is not there and cannot be made: ${messageOf(error)}`
    return wrong(subject, words, `make it: install -d -m 0700 -o ${username} ${path}`)
  }
}

async function secretFindings(folder: string): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const name of SECRET_FILES) {
    const path = join(folder, name)
    const found = await unlessMissing(stat(path), null)
    if (found !== null && (found.mode & 0o077) !== 0) {
      findings.push(doubtful('secrets', `other users may read ${path}`, `chmod 0600 ${path}`))
    }
  }
  return findings
}

async function diskFindings(path: string): Promise<Finding[]> {
  const found = await unlessMissing(statfs(path), null)
  if (found === null) return []
  return [diskFinding(path, found.bavail * found.bsize)]
}

/** Whether so many free bytes are enough below a folder. */
export function diskFinding(path: string, freeBytes: number): Finding {
  const advice = `make room below ${path}`
  if (freeBytes === 0) return wrong('disk', 'full', advice)
  const words = `${Math.floor(freeBytes / MEBIBYTE)} MiB free`
  return freeBytes < LITTLE_DISK_BYTES ? doubtful('disk', words, advice) : fine('disk', words)
}

async function playbookFinding({ playbooksPath: path, runnerFilesMaxBytes }: Places): Promise<Finding> {
  const subject = 'playbook folder'
  const finding = await readable(subject, path)
  if (finding.state !== 'ok' || (await unlessMissing(stat(path), null)) === null) return finding
  try {
    const { leftOut } = await walkFolder(path, runnerFilesMaxBytes)
    if (leftOut.length === 0) return finding
    const words = `${entriesInWords(leftOut)} of ${path} cannot travel to runners: ${namedInWords(leftOut)}`
    return doubtful(subject, words, 'jobs run without them, unless they name them; remove them, or make links relative')
  } catch (error) {
    return doubtful(
      subject,
      messageOf(error),
      'jobs cannot get their files; runners with RTE_FILES=local have their own',
    )
  }
}

async function readable(subject: string, path: string): Promise<Finding> {
  try {
    await access(path, constants.R_OK | constants.X_OK)
    return fine(subject, path)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return fine(subject, `${path} is made at the first start`)
    return wrong(subject, messageOf(error), `let ${userInfo().username} read ${path}`)
  }
}
