import { SettingsError } from '@holdfast/protocol'

/** Most users that one setting may name. */
const MAX_USERS = 1000

const RANGE = /^([a-z_][a-z0-9_.-]*?|)(\d{1,9})\.\.(\d{1,9})$/
const NAME = /^(?:[a-z_][a-z0-9_.-]{0,31}|\d{1,9})$/

/**
 * The users of RTE_ISOLATION_USERS one by one: names or numbers with commas between them. `job-1..4` stands for `job-1`
 * to `job-4`, `60600..60609` for ten numbers.
 * @throws SettingsError for what is neither
 */
export function readUserList(text: string): string[] {
  const users = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap(expand)
  if (users.length === 0 || users.length > MAX_USERS) {
    throw new SettingsError(`RTE_ISOLATION_USERS: must name 1 to ${MAX_USERS} users`)
  }
  return users
}

function expand(part: string): string[] {
  const [, prefix = '', first = '', last = ''] = RANGE.exec(part) ?? []
  const count = Number(last) - Number(first) + 1
  if (first === '' || count < 1 || count > MAX_USERS) {
    if (NAME.test(part) && !part.includes('..')) return [part]
    throw new SettingsError(`RTE_ISOLATION_USERS: ${JSON.stringify(part)} is no user and no range such as job-1..8`)
  }
  return Array.from({ length: count }, (_, index) => `${prefix}${Number(first) + index}`)
}
