import {
  CommandWordsError,
  holdsTemplate,
  parseAuthorPath,
  parseCommandPath,
  parseHostList,
  parseLimit,
  parseTags,
  requireAuthorInventory,
  requireAuthorLimit,
  requireInventoryPath,
  shownText,
} from '@holdfast/protocol'
import { posix } from 'node:path'
import { RefusedValuesError } from '../../errors.js'
import type { Playbook } from '../record/playbook.js'

/** Which of the settings come from the values of the launch. The others come from the form itself. */
export interface Said {
  readonly inventories: readonly string[]
  readonly limit: boolean
  readonly playbook: boolean
  readonly playbookSubPath: boolean
}

/**
 * Checks every part of a job that goes into the command line of ansible-playbook. The runner checks it again. Texts of
 * the form itself go through the same parsers. But only the form may name any file of the playbook folder.
 * @throws RefusedValuesError that names the reserved key
 */
export function requireCommandWords(playbook: Playbook, said: Said): void {
  check('__playbook__', () => {
    if (said.playbook) requirePlaybookName(parseCommandPath(playbook.playbook))
    else parseAuthorPath(playbook.playbook)
  })
  const parseSubPath = said.playbookSubPath ? parseCommandPath : parseAuthorPath
  check('__playbookSubPath__', () => playbook.playbookSubPath !== null && parseSubPath(playbook.playbookSubPath))
  for (const entry of playbook.inventory)
    check('__inventory__', () => (said.inventories.includes(entry) ? requireInventory : requireAuthorInventory)(entry))
  const requireLimit = said.limit ? parseLimit : requireAuthorLimit
  check('__limit__', () => playbook.limit !== null && requireLimit(playbook.limit))
  check('__tags__', () => playbook.tags !== null && parseTags(playbook.tags))
  check('skip_tags', () => playbook.skipTags !== null && parseTags(playbook.skipTags))
}

/**
 * Refuses names that look like a template. ansible treats values as data, but it may treat names inside of values as
 * templates.
 * @throws RefusedValuesError that names the variable
 */
export function requirePlainNames(extravars: Readonly<Record<string, unknown>>): void {
  for (const [variable, value] of Object.entries(extravars)) {
    if (holdsTemplate(variable)) refuse(variable, 'its name looks like a template')
    // A list of open values in place of recursion: values from playbooks may be nested deeper than the call stack
    // allows.
    const open = [value]
    while (open.length > 0) {
      const one = open.pop()
      if (typeof one !== 'object' || one === null) continue
      const name = Array.isArray(one) ? undefined : Object.keys(one).find(holdsTemplate)
      if (name !== undefined) refuse(variable, `the name ${shownText(name)} in it looks like a template`)
      for (const item of Object.values(one)) if (typeof item === 'object') open.push(item)
    }
  }
}

/** An inventory that a user named: hosts with commas, or a path. */
function requireInventory(entry: string): void {
  if (entry.includes(',')) parseHostList(entry)
  // Only the runner can tell whether an absolute path lies in the playbook folder.
  else if (entry.startsWith('/')) parseCommandPath(entry)
  // A path may go up from the working folder first. The runner checks that it stays in the playbook folder.
  else requireInventoryPath(posix.normalize(entry).replace(/^(?:\.\.\/)+/, ''))
}

/** Only playbooks are allowed, because ansible prints lines of a file that is not a playbook. */
function requirePlaybookName(parts: readonly string[]): void {
  const isHidden = parts.some((part) => part.startsWith('.') || /^(?:group_vars|host_vars|vars)$/i.test(part))
  if (isHidden || !/\.(?:ya?ml|json)$/i.test(parts.at(-1) ?? '')) {
    throw new CommandWordsError('it is no playbook by its name')
  }
}

function check(key: string, parse: () => unknown): void {
  try {
    parse()
  } catch (error) {
    if (!(error instanceof CommandWordsError)) throw error
    refuse(key, error.message)
  }
}

function refuse(key: string, problem: string): never {
  throw new RefusedValuesError('values_refused', `${key} is refused: ${problem}`, { invalid: [key] })
}
