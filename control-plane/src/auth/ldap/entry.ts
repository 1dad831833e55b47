import type { Entry } from 'ldapts'

/** The values of an attribute of an entry; the directory may write its name in other letters than we do. */
export function valuesOf(entry: Entry, attribute: string): string[] {
  const name = Object.keys(entry).find((key) => key.toLowerCase() === attribute.toLowerCase())
  const value = name === undefined ? [] : (entry[name] ?? [])
  const values: readonly (string | Buffer)[] = Array.isArray(value) ? value : [value]
  return values.map((one) => (typeof one === 'string' ? one : one.toString('utf8')))
}

/** One `type=value` of a distinguished name as RFC 4514 writes it: the value, escapes and all, up to the next part. */
const PART = /^\s*([A-Za-z0-9.-]+)\s*=\s*((?:\\[\s\S]|[^\\,;+])*)([,;+]|$)/

/**
 * The name in a distinguished name: the value of its first part, or of the `cn` when that is made of several. Null when
 * the text is no distinguished name.
 */
export function nameOf(dn: string): string | null {
  let name: string | null = null
  for (let rest = dn; ;) {
    const [whole = '', type = '', value = '', next = ''] = PART.exec(rest) ?? []
    if (type === '') return name
    if (name === null || type.toLowerCase() === 'cn') name = unescaped(value)
    if (next !== '+') return name
    rest = rest.slice(whole.length)
  }
}

/** Spaces around a value do not belong to it, unless they are escaped. */
function unescaped(value: string): string {
  const end = /(?:\\[\s\S]|[^\\\s]|\s+(?=\\|\S))*/.exec(value)?.[0] ?? ''
  // Several bytes in a row may be one letter.
  return end
    .replace(/(?:\\[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString('utf8'))
    .replace(/\\([\s\S])/g, '$1')
}
