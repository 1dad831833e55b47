import { randomUUID } from 'node:crypto'

/** The parts of an address that a script can read. */
const PARTS = [
  'href',
  'origin',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const
const SETTABLE: ReadonlySet<string> = new Set(PARTS.filter((part) => part !== 'origin'))

/**
 * The functions of browsers that forms use and that are not a part of the language: text in, text out. Nothing here
 * reaches a network.
 */
export const HOST_WEB = {
  btoa: (text: unknown) => btoa(String(text)),
  atob: (text: unknown) => atob(String(text)),
  randomUUID: () => randomUUID(),
  /** @throws TypeError when it is not an address */
  parseUrl: (text: unknown, base: unknown) =>
    partsOf(base === null ? new URL(String(text)) : new URL(String(text), String(base))),
  /** The parts of an address after one of them was set. */
  setUrl(href: unknown, part: unknown, value: unknown) {
    const url = new URL(String(href))
    if (SETTABLE.has(String(part))) Object.assign(url, { [String(part)]: String(value) })
    return partsOf(url)
  },
  parseQuery: (text: unknown) => [...new URLSearchParams(String(text))],
  writeQuery: (pairs: unknown) => new URLSearchParams(pairs as [string, string][]).toString(),
}

function partsOf(url: URL): Record<string, string> {
  return Object.fromEntries(PARTS.map((part) => [part, url[part]]))
}
