import type { Entry } from 'ldapts'

/** The values of an attribute of an entry. The directory may write its name with other upper and lower case letters. */
export function valuesOf(entry: Entry, attribute: string): string[] {
  const name = Object.keys(entry).find((key) => key.toLowerCase() === attribute.toLowerCase())
  const value = name === undefined ? [] : (entry[name] ?? [])
  const values: readonly (string | Buffer)[] = Array.isArray(value) ? value : [value]
  return values.map((one) => (typeof one === 'string' ? one : one.toString('utf8')))
}

/**
 * The id of an entry in the directory, which does not depend on its name: the first of the attributes that it has, as
 * `<attribute> <value>`. Null when it has none.
 */
export function subjectOf(entry: Entry, attributes: readonly string[]): string | null {
  for (const attribute of attributes) {
    const name = Object.keys(entry).find((key) => key.toLowerCase() === attribute.toLowerCase())
    const value = name === undefined ? undefined : [entry[name]].flat()[0]
    if (value === undefined || value.length === 0) continue
    const bytes = typeof value === 'string' ? Buffer.from(value) : value
    // Some ids are texts and some are bytes. An id with other characters than printable ASCII is written in
    // hexadecimal.
    const text = bytes.toString('latin1')
    return `${attribute.toLowerCase()} ${/^[\x21-\x7e]+$/.test(text) ? text.toLowerCase() : bytes.toString('hex')}`
  }
  return null
}
