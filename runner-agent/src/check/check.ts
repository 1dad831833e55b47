import { doubtful, type Finding, linesOf } from '@holdfast/protocol'
import { type AgentSettings, unknownSettings } from '../settings.js'
import { checkHost } from './host.js'
import { checkWay } from './way.js'
import type { Environment } from '../ground.js'

/**
 * Checks everything that a runner needs. It prints one line for each finding, and what to do about it.
 * @returns whether jobs can run here
 */
export async function checkRunner(
  settings: AgentSettings,
  environment: Environment,
  say: (line: string) => void,
): Promise<boolean> {
  const findings: Finding[] = []
  for (const look of [
    () => checkNames(environment),
    () => checkHost(settings, environment),
    () => checkWay(settings, environment, () => new Date()),
  ]) {
    for (const finding of await look()) {
      findings.push(finding)
      for (const line of linesOf(finding)) say(line)
    }
  }
  const problems = findings.filter(({ state }) => state === 'problem').length
  say(problems === 0 ? 'This host can run jobs.' : `Jobs cannot run here: ${problems} problem(s), see above.`)
  return problems === 0
}

function checkNames(environment: Environment): Finding[] {
  return unknownSettings(environment).map(({ name, meant }) =>
    doubtful(
      'settings',
      `there is no setting ${name}`,
      meant === null ? 'see holdfast-runner run --help' : `is ${meant} meant?`,
    ),
  )
}
