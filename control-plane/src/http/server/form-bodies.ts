import { TooLargeError } from '../../errors.js'

export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Fields of one such body; more than any page or script sends. */
const MAX_FIELDS = 1000

/**
 * What `curl -d` says of every body, JSON or not. A body that begins as a JSON object is taken for one; any other is a
 * list of `name=value`, in which every value is a text.
 */
export function isJsonText(text: string): boolean {
  return text.trimStart().startsWith('{')
}

/** @throws TooLargeError */
export function formFields(text: string): Record<string, string> {
  const fields = new URLSearchParams(text)
  if (fields.size > MAX_FIELDS)
    throw new TooLargeError('too_many_fields', `The body has more than ${MAX_FIELDS} fields`)
  return Object.fromEntries([...fields].filter(([name]) => name !== '__proto__'))
}
