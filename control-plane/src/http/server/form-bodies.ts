import { TooLargeError } from '../../errors.js'

/** The content type of HTML forms, and of `curl -d`. */
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Most fields of one such body. */
const MAX_FIELDS = 1000

/**
 * `curl -d` sends this content type for every body, JSON or not. So a body that begins like a JSON object is read as
 * JSON. Any other one is a list of `name=value`, in which every value is a text.
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
