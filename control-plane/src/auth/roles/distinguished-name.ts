/** One `type=value` in the syntax of RFC 4514: the value with its escapes, up to the next part. */
const PART = /^\s*([A-Za-z0-9.-]+)\s*=\s*((?:\\[\s\S]|[^\\,;+])*)([,;+]|$)/

/** Attribute types with several names: the number and the longer name of each. */
const TYPES: Readonly<Record<string, string>> = {
  '2.5.4.3': 'cn',
  '2.5.4.6': 'c',
  '2.5.4.7': 'l',
  '2.5.4.8': 'st',
  '2.5.4.9': 'street',
  '2.5.4.10': 'o',
  '2.5.4.11': 'ou',
  '0.9.2342.19200300.100.1.1': 'uid',
  '0.9.2342.19200300.100.1.25': 'dc',
  commonname: 'cn',
  countryname: 'c',
  localityname: 'l',
  stateorprovincename: 'st',
  streetaddress: 'street',
  organizationname: 'o',
  organizationalunitname: 'ou',
  userid: 'uid',
  domaincomponent: 'dc',
}

interface Part {
  /** In lower case, by its usual name. */
  readonly type: string
  /** Without escapes. */
  readonly value: string
  /** The value is written in hexadecimal digits: `#04024869`. */
  readonly isHex: boolean
}

/**
 * The parts of a distinguished name. Parts that stand together (`cn=a+ou=b`) are in one list. Null: the text is not a
 * distinguished name.
 */
function partsOf(dn: string): Part[][] | null {
  const names: Part[][] = [[]]
  for (let rest = dn; ;) {
    const [whole = '', type = '', value = '', next = ''] = PART.exec(rest) ?? []
    if (type === '') return null
    const name = type.toLowerCase().replace(/^oid\./, '')
    const text = unescaped(value)
    names.at(-1)?.push({ type: TYPES[name] ?? name, value: text, isHex: /^#([0-9a-f]{2})+$/i.test(value.trim()) })
    if (next === '') return names
    if (next !== '+') names.push([])
    rest = rest.slice(whole.length)
  }
}

/**
 * A distinguished name in canonical form: two names have the same text if directories take them for equal. Types have
 * their usual name, letters are lower case, spaces are single, and there is one way to escape. Null when the text is no
 * distinguished name.
 */
export function canonicalDn(dn: string): string | null {
  const names = partsOf(dn)
  return names && names.map(canonicalName).join(',')
}

/** Whether an entry is below a base, or is the base. Both in canonical form. */
export function isBelow(dn: string, base: string): boolean {
  return dn === base || dn.endsWith(`,${base}`)
}

/**
 * The name in a distinguished name: the value of its first part, or of the `cn` when the first part has several. Null
 * when the text is no distinguished name.
 */
export function nameOfDn(dn: string): string | null {
  const [first] = partsOf(dn) ?? []
  return (first?.findLast(({ type }) => type === 'cn') ?? first?.[0])?.value ?? null
}

function canonicalName(parts: readonly Part[]): string {
  return parts
    .map(({ type, value, isHex }) => `${type}=${isHex ? value.toLowerCase() : escaped(folded(value))}`)
    .sort()
    .join('+')
}

/** The form in which directories compare texts: normalised, in lower case, without the spaces around it. */
function folded(value: string): string {
  return value.normalize('NFKC').toLowerCase().normalize('NFKC').replace(/\s+/g, ' ').trim()
}

function escaped(value: string): string {
  return value.replace(/[,+"\\<>;=#]/g, '\\$&')
}

/** Spaces around a value do not count, unless they are escaped. */
function unescaped(value: string): string {
  const end = /(?:\\[\s\S]|[^\\\s]|\s+(?=\\|\S))*/.exec(value)?.[0] ?? ''
  // Several bytes may be one letter.
  return end
    .replace(/(?:\\[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString('utf8'))
    .replace(/\\([\s\S])/g, '$1')
}
