import { createHmac } from 'node:crypto'

/**
 * Whether a file of known hosts has this key for this host. The file has the format of ssh. Its names may be hashed. A line
 * with the mark `@revoked` takes a key back. Lines with other marks (`@cert-authority`) are left out: they have no key of a
 * host.
 * @param key the key of the host, as it comes over the wire
 */
export function isKnownHost(
  file: string,
  { host, port }: { readonly host: string; readonly port: number },
  key: Buffer,
): boolean {
  const name = port === 22 ? host : `[${host}]:${port}`
  const encoded = key.toString('base64')
  let isKnown = false
  for (const line of file.split('\n')) {
    const words = line.trim().split(/\s+/)
    const mark = words[0]?.startsWith('@') ? words.shift() : undefined
    const [names = '', , listed] = words
    if (listed !== encoded || names.startsWith('#') || !isNamed(names, name)) continue
    if (mark === '@revoked') return false
    if (mark === undefined) isKnown = true
  }
  return isKnown
}

/** Whether one of the patterns of a line matches a host. A pattern with `!` before it excludes the hosts that it matches. */
function isNamed(names: string, name: string): boolean {
  const patterns = names.split(',')
  if (patterns.some((one) => one.startsWith('!') && isOne(one.slice(1), name))) return false
  return patterns.some((one) => isOne(one, name))
}

function isOne(pattern: string, name: string): boolean {
  const [, salt, hash] = /^\|1\|([^|]+)\|([^|]+)$/.exec(pattern) ?? []
  if (salt !== undefined) return createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest('base64') === hash
  const escaped = pattern.toLowerCase().replace(/[.+^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(name)
}
