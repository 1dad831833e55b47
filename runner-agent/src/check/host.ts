import { access, constants, stat, statfs } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { doubtful, fine, type Finding, wrong } from '@holdfast/protocol'
import { isErrno } from '@holdfast/host/system-errors'
import { openIsolation } from '../isolation/isolation.js'
import { createLog, describeError } from '../log.js'
import { PACKAGED_PARTS_FOLDER, partsIn } from '../package-info.js'
import { readAnsibleVersion } from '../playbook/ansible-version.js'
import { playbookAccess, programIn } from '../playbook/compose.js'
import { findHostPython, type HostPython } from '../playbook/host-python.js'
import { readPartFiles } from '../runtime/part-files.js'
import type { AgentSettings } from '../settings.js'
import type { Environment } from '../ground.js'

const MEBIBYTE = 1024 * 1024
/** The output of jobs should fit on the disk while no control plane fetches it. */
const LITTLE_DISK_BYTES = 1024 * MEBIBYTE

/** Looks at everything on this host that jobs need. Changes nothing, unless isolation is asked for. */
export async function checkHost(settings: AgentSettings, environment: Environment): Promise<Finding[]> {
  const python = await lookForPython(settings, environment)
  const findings = [pythonFinding(python), await ansibleFinding(environment), ...(await packageFindings())]
  findings.push(...(await stateFindings(settings)))
  if (typeof python !== 'string') {
    if (python.localeDoubt !== null) findings.push(doubtful('locale', python.localeDoubt, 'install C.UTF-8'))
    const isStateWrong = findings.some(({ subject, state }) => subject === STATE && state === 'problem')
    if (settings.isolation !== null && !isStateWrong) {
      findings.push(await isolationFinding(settings, python, environment))
    }
  }
  return findings
}

/** @returns a sentence when no Python runs at all */
async function lookForPython(settings: AgentSettings, environment: Environment): Promise<HostPython | string> {
  try {
    return await findHostPython(environment, settings.python)
  } catch (error) {
    return describeError(error)
  }
}

function pythonFinding(python: HostPython | string): Finding {
  const problem = typeof python === 'string' ? python : python.problem
  if (problem !== null) return wrong('Python', problem, 'apt-get install python3, or name one with RTE_PYTHON')
  return fine('Python', (python as HostPython).path)
}

async function ansibleFinding(environment: Environment): Promise<Finding> {
  const [path] = programIn(environment.PATH, 'ansible-playbook')
  const version = path === undefined ? null : await readAnsibleVersion(environment)
  if (path === undefined) {
    return wrong('ansible', `no ansible-playbook in ${environment.PATH ?? 'PATH'}`, 'apt-get install ansible-core')
  }
  if (version === null) return wrong('ansible', `${path} does not say its version`, `run it: ${path} --version`)
  return fine('ansible', `${version} at ${path}`)
}

/** Empty when all is well: whoever runs this has the package. */
async function packageFindings(): Promise<Finding[]> {
  try {
    await readPartFiles(PACKAGED_PARTS_FOLDER)
    return []
  } catch (error) {
    return [wrong('package', `it is not complete: ${describeError(error)}`, 'install it again')]
  }
}

const STATE = 'state folder'

async function stateFindings({ statePath, spoolMaxBytes }: AgentSettings): Promise<Finding[]> {
  const user = userInfo()
  try {
    const { uid, mode } = await stat(statePath)
    if (uid !== user.uid) {
      const advice = `run this as the user of the agent, such as: runuser -u holdfast-runner -- holdfast-runner check`
      return [wrong(STATE, `${statePath} belongs to user ${uid}, and this is ${user.username}`, advice)]
    }
    await access(statePath, constants.R_OK | constants.W_OK | constants.X_OK)
    const isOpen = (mode & 0o077) !== 0
    const folder = isOpen
      ? doubtful(STATE, `other users can look into ${statePath}, where keys are`, `chmod 0700 ${statePath}`)
      : fine(STATE, statePath)
    return [folder, await diskFinding(statePath, spoolMaxBytes)]
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [await missingState(statePath)]
    return [wrong(STATE, describeError(error), `make ${statePath} readable and writable for ${user.username}`)]
  }
}

async function missingState(statePath: string): Promise<Finding> {
  try {
    await access(dirname(statePath), constants.W_OK | constants.X_OK)
    return fine(STATE, `${statePath} is made at the first start`)
  } catch (error) {
    const advice = `make it: install -d -m 0700 -o ${userInfo().username} ${statePath}`
    return wrong(STATE, `${statePath} is not there and cannot be made: ${describeError(error)}`, advice)
  }
}

async function diskFinding(statePath: string, spoolMaxBytes: number): Promise<Finding> {
  const { bavail, bsize } = await statfs(statePath)
  const free = bavail * bsize
  const words = `${Math.floor(free / MEBIBYTE)} MiB free for output that is not fetched yet`
  if (free === 0) return wrong('disk', 'full: no job is taken', `make room below ${statePath}`)
  if (free < Math.min(LITTLE_DISK_BYTES, spoolMaxBytes)) return doubtful('disk', words, `make room below ${statePath}`)
  return fine('disk', words)
}

async function isolationFinding(
  settings: AgentSettings,
  python: HostPython,
  environment: Environment,
): Promise<Finding> {
  const host = {
    python: python.path,
    script: partsIn(PACKAGED_PARTS_FOLDER).isolation,
    statePath: settings.statePath,
    // The agent makes its own copy of the parts for jobs.
    ...playbookAccess(environment, settings, python.path, null),
  }
  // Its log is not shown: the result says the same.
  const silent = createLog({ level: 'silent', format: 'text', output: process.stderr })
  const isolation = await openIsolation(settings.isolation, host, silent)
  if (isolation.kind !== 'user') {
    const problem = isolation.kind === 'unavailable' ? isolation.problem : 'it is off'
    return wrong('isolation', problem, 'docs/isolation.md says what it needs; or RTE_ISOLATION=none')
  }
  return fine('isolation', `${isolation.orders.users.length} users for jobs`)
}
