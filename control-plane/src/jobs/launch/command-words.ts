import {
  CommandWordsError,
  holdsTemplate,
  parseCommandPath,
  parseHostList,
  parseLimit,
  parseTags,
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
}

/**
 * Checks every part of a job that goes into the command line of ansible-playbook. The runner checks it again. Texts of
 * the form itself go through the same parsers. But only the form may name any file of the playbook folder.
 * @throws RefusedValuesError that names the reserved key
 */
export function requireCommandWords(playbook: Playbook, said: Said): void {
  check('__playbook__', () => {
    const parts = parseCommandPath(playbook.playbook)
    if (said.playbook) requirePlaybookName(parts)
  })
  check('__playbookSubPath__', () => playbook.playbookSubPath !== null && parseCommandPath(playbook.playbookSubPath))
  for (const entry of playbook.inventory)
    check('__inventory__', () => requireInventory(entry, said.inventories.includes(entry)))
  check('__limit__', () => playbook.limit !== null && requireLimit(playbook.limit, said.limit))
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

/** A list of hosts has a comma. The form itself may also name a file whose name has a comma. */
function requireInventory(entry: string, isSaid: boolean): void {
  if (entry.includes(',')) {
    try {
      parseHostList(entry)
    } catch (error) {
      if (isSaid || !entry.includes('/')) throw error
      parseCommandPath(entry)
    }
  } else if (isSaid && !entry.startsWith('/')) {
    // A path may go up from the working folder first. The runner checks that it stays in the playbook folder.
    requireInventoryPath(posix.normalize(entry).replace(/^(?:\.\.\/)+/, ''))
  } else {
    // Only the runner can tell whether an absolute path lies in the playbook folder.
    parseCommandPath(entry)
  }
}

/** Only the form itself may use `@path`, which makes ansible read a file. */
function requireLimit(limit: string, isSaid: boolean): void {
  if (!isSaid && limit.startsWith('@')) parseCommandPath(limit.slice(1))
  else parseLimit(limit)
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
