import { HOST_NAME, IPV6, WORD, countOfHosts, isHostPattern } from './host-names.js'

/**
 * What may stand in the command line of ansible-playbook beside options. Each kind of text has one parser, and both
 * programs use it: the control plane at the launch, the runner agent before it starts a playbook.
 *
 * ansible makes variables of these texts (`ansible_limit`, `inventory_hostname`, `inventory_file`, `ansible_run_tags` and
 * others) and may take them for templates; it also splits them at characters that people do not see. So a text passes
 * only if all of it is known words. What passes holds no brace, no control character and no blank but the plain space,
 * and no part of it begins with `-` or `@`, however it is split.
 */

/** A text cannot stand at its place in the command line. The message says why, for people. */
export class CommandWordsError extends Error {
  override readonly name = 'CommandWordsError'
}

/** Most hosts that the ranges of one list may stand for. */
export const MAX_LISTED_HOSTS = 10_000

/**
 * Most bytes of a list of hosts, patterns or tags. Linux takes 128 KiB (131,072 bytes) for one argument, with the name of
 * the option before it and its end.
 */
export const MAX_ARGUMENT_BYTES = 131_000

/** Most bytes of all such lists of a job. An offer must have room for them. */
export const MAX_ARGUMENTS_BYTES = 262_144

/** Most characters of one host, pattern, tag or path. Also keeps the patterns below quick. */
export const MAX_WORD_CHARACTERS = 4096

const TAG = new RegExp(`^[${WORD}][${WORD}.:/+= -]*$`, 'u')
const PATH_PART = new RegExp(`^[${WORD}.@+][${WORD}.@+=,~^ -]*$`, 'u')
/** All that people see, but no braces (templates), no `$` (a variable of the environment) and no backslash. */
const PART_OF_AUTHOR = /^[^\p{C}\p{Z}{}$\\~=,^-](?:[^\p{C}\p{Z}{}$\\]| )*$/u

/**
 * A list of hosts as an inventory, `web1,web[2:9].example.com,[2001:db8::1]:2222,`.
 * @returns the hosts, as they were written
 * @throws CommandWordsError
 */
export function parseHostList(text: string): string[] {
  const hosts = trimmedParts(text)
  if (!text.includes(',') || hosts.length === 0) throw new CommandWordsError('it must be hosts with commas')
  for (const host of hosts) {
    requireShort(host)
    if (!HOST_NAME.test(host) && !IPV6.test(host)) throw wordsError(host, 'is no name or address of a host')
  }
  const count = hosts.reduce((sum, host) => sum + countOfHosts(host), 0)
  if (count > MAX_LISTED_HOSTS) throw new CommandWordsError(`it names more than ${MAX_LISTED_HOSTS} hosts`)
  return hosts
}

/**
 * A limit: patterns of hosts and groups, `web*:&prod:!db[0],~web\d+`.
 * @returns the patterns
 * @throws CommandWordsError
 */
export function parseLimit(text: string): string[] {
  const isOne = (part: string): boolean => part.length <= MAX_WORD_CHARACTERS && isHostPattern(part)
  const patterns = trimmedParts(text).flatMap((part) => (isOne(part) ? [part] : patternsWithColons(part)))
  if (patterns.length === 0) throw new CommandWordsError('it names no host')
  return patterns
}

/**
 * Tags to run or to skip, `install,web::config`.
 * @returns the tags
 * @throws CommandWordsError
 */
export function parseTags(text: string): string[] {
  const tags = trimmedParts(text)
  if (tags.length === 0) throw new CommandWordsError('it names no tag')
  for (const tag of tags) {
    requireShort(tag)
    if (!TAG.test(tag)) throw wordsError(tag, 'is no tag')
  }
  return tags
}

/**
 * A path that a user gave and that goes into a command line, absolute or relative. Where it leads is not looked at. A
 * playbook may give it to a shell.
 * @returns its parts
 * @throws CommandWordsError
 */
export function parseCommandPath(text: string): string[] {
  return partsOf(text, PATH_PART)
}

/**
 * A path that the author of a form gave. The author also made the files, whose names may have brackets, quotes, `&` and
 * signs of any kind.
 * @returns its parts
 * @throws CommandWordsError
 */
export function parseAuthorPath(text: string): string[] {
  return partsOf(text, PART_OF_AUTHOR)
}

function partsOf(text: string, allowed: RegExp): string[] {
  requireShort(text)
  const parts = text.split('/').filter((part) => part !== '')
  if (parts.length === 0) throw new CommandWordsError('it names no file')
  for (const part of parts) if (!allowed.test(part)) throw wordsError(part, 'cannot be a part of a path')
  return parts
}

/**
 * An inventory that the author of a form gave: hosts with commas, or a path. The name of a file may have commas, too, if
 * its path has a `/`.
 * @throws CommandWordsError
 */
export function requireAuthorInventory(entry: string): void {
  if (!entry.includes(',')) parseAuthorPath(entry)
  else {
    try {
      parseHostList(entry)
    } catch (error) {
      if (!entry.includes('/')) throw error
      parseAuthorPath(entry)
    }
  }
}

/** Where ansible ends a pattern of a limit, also one that names a file. */
const LIMIT_END = /[\s,:[\]]/

/**
 * A limit that the author of a form gave. Only here `@path` makes ansible read a file.
 * @throws CommandWordsError
 */
export function requireAuthorLimit(limit: string): void {
  if (!limit.startsWith('@')) return void parseLimit(limit)
  const path = limit.slice(1)
  const part = parseAuthorPath(path).find((one) => LIMIT_END.test(one.replaceAll(/\[[^[\]]*\]/g, '')))
  if (part !== undefined) throw wordsError(part, 'cannot be a part of the path of a limit, which ansible splits')
}

/** Folders whose files hold variables, often secret ones. They are refused: ansible shows lines of a file that is no inventory. */
const FOLDERS_OF_VARIABLES = new Set(['group_vars', 'host_vars', 'vars', 'defaults', 'vault', 'secrets'])
/** Names of files and folders that are inventories by their name. */
const INVENTORY_NAME = /^(?:inventor(?:y|ies)|hosts)(?:[._-].*)?$|[._-](?:inventory|hosts)(?:\.[a-z]+)?$|\.ini$/iu

/**
 * A path of an inventory that a user named: ansible shows lines of a file that is no inventory, and runs one that is
 * executable. So its name, or that of a folder it is in, must say that it is one (`inventories/…`, `hosts`, `prod.ini`).
 * The author of a form may name any file.
 * @param path from the playbook folder, without `..`
 * @throws CommandWordsError
 */
export function requireInventoryPath(path: string): void {
  const parts = parseCommandPath(path)
  const isHidden = parts.some((part) => part.startsWith('.') || FOLDERS_OF_VARIABLES.has(part.toLowerCase()))
  if (isHidden || !parts.some((part) => INVENTORY_NAME.test(part))) {
    throw wordsError(path, 'is no inventory by its name; the form can list it as a choice')
  }
}

/** Whether ansible would take a text for a template. */
export function holdsTemplate(text: string): boolean {
  return /\{[{%#]/.test(text)
}

/** A text from outside, for use in a message: it is cut short, and invisible characters are written out. */
export function shownText(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 80)}…` : text
  return `"${short.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)}"`
}

/** ansible splits patterns at colons and blanks, too, where there is no comma; not within brackets. */
function patternsWithColons(part: string): string[] {
  const piece = /(?:[^ :[\]]|\[[^[\]]*\])+/gu
  const pieces = part.match(piece) ?? []
  for (const one of pieces) requireShort(one)
  const isWhole = /^[ :]*$/.test(part.replace(piece, ''))
  const problem = isWhole ? pieces.find((one) => !isHostPattern(one)) : part
  if (problem !== undefined) throw wordsError(problem, 'is no pattern of hosts')
  return pieces
}

/** The parts between commas, without plain spaces around them. Other blanks stay: people do not see them, so they are refused. */
function trimmedParts(text: string): string[] {
  const bytes = new TextEncoder().encode(text).length
  if (bytes > MAX_ARGUMENT_BYTES) {
    throw new CommandWordsError(`it has ${bytes} bytes, and ansible takes at most ${MAX_ARGUMENT_BYTES}`)
  }
  return text
    .split(',')
    .map(withoutOuterSpaces)
    .filter((part) => part !== '')
}

function requireShort(word: string): void {
  if (word.length > MAX_WORD_CHARACTERS) {
    throw wordsError(word, `has ${word.length} characters, and at most ${MAX_WORD_CHARACTERS} are taken`)
  }
}

function withoutOuterSpaces(text: string): string {
  let [start, end] = [0, text.length]
  while (text[start] === ' ') start += 1
  while (end > start && text[end - 1] === ' ') end -= 1
  return text.slice(start, end)
}

function wordsError(part: string, why: string): CommandWordsError {
  return new CommandWordsError(`${shownText(part)} ${why}`)
}
