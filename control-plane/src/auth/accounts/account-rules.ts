import { InvalidInputError } from '../../errors.js'
import { usernameKey } from '../../store/accounts/users.js'
import { MAX_PASSWORD_LENGTH, SHORTEST_PASSWORD } from '../../words/password-length.js'
import { passwordForm } from '../sign-in/passwords.js'

/**
 * A name begins with a letter or digit. It contains no `/` and no `:`, which separate names in roles and in HTTP Basic.
 * @throws InvalidInputError
 */
export function checkUsername(username: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{M}\p{N}._@+-]{0,99}$/u.test(username)) return
  throw new InvalidInputError(
    'invalid_username',
    'A username is 1 to 100 letters, digits or . _ @ + - and starts with a letter or digit',
  )
}

/** @throws InvalidInputError */
export function checkPassword(given: string, username: string): void {
  const password = passwordForm(given)
  if (password.length < SHORTEST_PASSWORD) {
    throw new InvalidInputError('weak_password', `A password must have at least ${SHORTEST_PASSWORD} characters`)
  }
  if (password.length > MAX_PASSWORD_LENGTH) {
    throw new InvalidInputError('long_password', `A password may have at most ${MAX_PASSWORD_LENGTH} characters`)
  }
  if (usernameKey(password) === usernameKey(username)) {
    throw new InvalidInputError('weak_password', 'A password must not be the username')
  }
}

/** Group names have no prefix. Repeated ones count once. Each letter gets one form. @throws InvalidInputError */
export function checkGroups(groups: readonly string[]): string[] {
  for (const group of groups) {
    if (!/^[^/\p{C}]{1,100}$/u.test(group) || group.trim() !== group) {
      throw new InvalidInputError(
        'invalid_group',
        `A group is a name of 1 to 100 characters without /; in roles the group ops is written local/ops`,
        { group },
      )
    }
  }
  return [...new Set(groups.map((group) => group.normalize('NFC')))]
}
