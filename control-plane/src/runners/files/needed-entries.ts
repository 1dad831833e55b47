import { InvalidInputError } from '../../errors.js'
import { type LeftOut, shownPath } from './left-out.js'

/** Most links that are followed from one path: more than that is a circle. */
const MAX_LINKS = 40

/**
 * Refuses a job that needs an entry that cannot travel. What lies in a folder that it names is not needed by itself.
 * @param named the paths that the job names: its playbook, its inventories, its `playbookFiles`
 * @throws InvalidInputError that names the path and the entry
 */
export function requireTravels(
  named: readonly string[],
  links: readonly { readonly path: string; readonly target: string }[],
  leftOut: readonly LeftOut[],
): void {
  if (leftOut.length === 0) return
  const reasons = new Map(leftOut.map(({ path, reason }) => [path, reason]))
  const targets = new Map(links.map(({ path, target }) => [path, target]))
  for (const path of named) {
    const entry = leftOutOnTheWay(path, targets, reasons)
    if (entry === null) continue
    const way = entry === path ? ', which' : `. It is reached through ${shownPath(entry)}, which`
    throw new InvalidInputError(
      'playbook_files',
      `The job needs ${shownPath(path)} of the playbook folder${way} cannot travel to a runner (${reasons.get(entry) ?? ''})`,
    )
  }
}

/** The first entry on the way to a path that cannot travel, also behind links; null: there is none. */
function leftOutOnTheWay(
  path: string,
  targets: ReadonlyMap<string, string>,
  reasons: ReadonlyMap<string, string>,
): string | null {
  const open = path.split('/').reverse()
  const at: string[] = []
  let followed = 0
  while (open.length > 0) {
    const part = open.pop() ?? ''
    if (part === '' || part === '.') continue
    if (part === '..') {
      at.pop()
      continue
    }
    at.push(part)
    const here = at.join('/')
    if (reasons.has(here)) return here
    const target = targets.get(here)
    if (target === undefined) continue
    followed += 1
    if (followed > MAX_LINKS) return null
    at.pop()
    open.push(...target.split('/').reverse())
  }
  return null
}
