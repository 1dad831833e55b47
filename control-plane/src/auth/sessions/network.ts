import { isIPv6 } from 'node:net'

/**
 * The unit that counts as one client: an IPv4 address, or the /64 of an IPv6 address, because a client with one address
 * of a /64 has all of them.
 */
export function networkOf(address: string): string {
  const [plain = ''] = address.split('%')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = plain.toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  while (tail !== undefined && groups.length + last.length < 8) groups.push('0')
  const network = [...groups, ...last].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}
