import { linesOf } from '@holdfast/protocol'
import type { ControlPlaneSettings } from '../settings.js'
import { checkCertificate } from './certificate.js'
import { checkContent } from './content.js'
import { checkDatabase } from './database.js'
import { checkFolders } from './folders.js'
import { checkProxy } from './proxy.js'
import { checkPort } from './port.js'
import { checkSignIn } from './sign-in.js'

/**
 * Checks all that a control plane needs on this host. It prints each finding, and what to do about it. It changes nothing. A
 * control plane may run meanwhile.
 * @returns whether a control plane can start here, or go on
 */
export async function checkControlPlane(
  settings: ControlPlaneSettings,
  now: number,
  say: (line: string) => Promise<void>,
): Promise<boolean> {
  let problems = 0
  for (const look of [
    () => checkFolders(settings),
    () => checkDatabase(settings),
    () => checkCertificate(settings, now),
    () => checkProxy(settings),
    () => checkPort(settings),
    () => checkContent(settings),
    () => checkSignIn(settings.configPath),
  ]) {
    for (const finding of await look()) {
      if (finding.state === 'problem') problems += 1
      for (const line of linesOf(finding)) await say(line)
    }
  }
  await say(
    problems === 0
      ? 'A control plane can run here.'
      : `${problems} ${problems === 1 ? 'problem' : 'problems'}, see above.`,
  )
  return problems === 0
}
